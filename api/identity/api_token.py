"""The value of an API token: `svc_`, 43 random signs of base 62 (256 bits), and 6 of checksum.

The checksum lets a mistyped or invented token be refused without a look at any table, and lets scanners
find leaked ones. Only the SHA-256 is kept: a slow hash would protect 256 random bits no better.
"""

import re
import secrets
import string
from hashlib import sha256
from typing import NamedTuple
from zlib import crc32

PREFIX = "svc_"
PATTERN = r"svc_[0-9A-Za-z]{49}"
_BODY = 43
_CHECKSUM = 6
_SHOWN = 8
_SIGNS = string.digits + string.ascii_uppercase + string.ascii_lowercase
_SHAPE = re.compile(PATTERN)


class Minted(NamedTuple):
    """A new value, shown once, with what is kept of it."""

    value: str
    hash: str
    preview: str


def mint() -> Minted:
    """A new token value."""
    body = "".join(secrets.choice(_SIGNS) for _ in range(_BODY))
    value = f"{PREFIX}{body}{_checksum(body)}"
    return Minted(value, digest(value), f"{value[:_SHOWN]}…")


def is_well_formed(value: str) -> bool:
    """Tell whether this can be a token of ours: shape and checksum, no look-up."""
    return _SHAPE.fullmatch(value) is not None and value[-_CHECKSUM:] == _checksum(value[len(PREFIX) : -_CHECKSUM])


def digest(value: str) -> str:
    """What a token is known by: the SHA-256 of its value, in hex."""
    return sha256(value.encode()).hexdigest()


def _checksum(body: str) -> str:
    number = crc32(body.encode())
    signs = []
    for _ in range(_CHECKSUM):
        number, rest = divmod(number, len(_SIGNS))
        signs.append(_SIGNS[rest])
    return "".join(reversed(signs))
