"""The value of an API token: `svc_`, 43 random base-62 characters (256 bits), and 6 of checksum.

With the checksum, a misspelled or invented token is rejected without a table look-up, and scanners can find leaked
tokens. Only the SHA-256 is stored: a slow hash would protect 256 random bits no better.
"""

import re
import secrets
import string
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple
from zlib import crc32

from api.auth.tokens.escaped_words import find_escaped_words

PREFIX = "svc_"
PATTERN = r"svc_[0-9A-Za-z]{49}"
_BODY = 43
_CHECKSUM = 6
_LENGTH = len(PREFIX) + _BODY + _CHECKSUM
_SHOWN = 8
_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_SHAPE = re.compile(PATTERN)
_IN_BYTES = re.compile(PATTERN.encode())


class NewTokenValue(NamedTuple):
    """A new token value, shown once, with its stored hash and preview."""

    value: str
    hash: str
    preview: str


def mint() -> NewTokenValue:
    """Create a token value."""
    body = "".join(secrets.choice(_ALPHABET) for _ in range(_BODY))
    value = f"{PREFIX}{body}{_checksum(body)}"
    return NewTokenValue(value, digest(value), f"{value[:_SHOWN]}…")


def is_well_formed(value: str) -> bool:
    """Return whether a value has the shape and checksum of an API token; no look-up."""
    return _SHAPE.fullmatch(value) is not None and value[-_CHECKSUM:] == _checksum(value[len(PREFIX) : -_CHECKSUM])


def find_values(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield the texts in a file that have the shape and checksum of an API token, each with its position.

    Those that are written with escapes come last, with the position of their word.
    """
    yield from _find_plain(data)
    for start, word in find_escaped_words(data, _LENGTH):
        for _, value in _find_plain(word):
            yield start, value


def _find_plain(data: bytes) -> Iterator[tuple[int, str]]:
    """Yield such texts without escapes.

    They may overlap: `svc_` and 46 letters before a token have the shape too, up to the `svc` of the token. A look-ahead would find
    these too, but 20 times slower, since it takes the literal beginning from the pattern.
    """
    match = _IN_BYTES.search(data)
    while match:
        value = match[0].decode()
        if is_well_formed(value):
            yield match.start(), value
        match = _IN_BYTES.search(data, match.start() + 1)


def find_any(data: bytes) -> int | None:
    """Return the position of the first such text; whether it is valid now is not known here."""
    return next((at for at, _ in find_values(data)), None)


def digest(value: str) -> str:
    """Return the key of a token in the database: the SHA-256 of its value, in hex."""
    return sha256(value.encode()).hexdigest()


def _checksum(body: str) -> str:
    number = crc32(body.encode())
    characters = []
    for _ in range(_CHECKSUM):
        number, rest = divmod(number, len(_ALPHABET))
        characters.append(_ALPHABET[rest])
    return "".join(reversed(characters))
