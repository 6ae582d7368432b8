"""Signatures of HTTP responses: over the digest of their content.

The digest is that of https://www.rfc-editor.org/rfc/rfc9530, the signature that of https://www.rfc-editor.org/rfc/rfc9421.
"""

import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import NamedTuple

from gitstore.signatures.public_key import ED25519, InvalidKey, PublicKey
from gitstore.signatures.signing_key import SigningKey
from gitstore.signatures.ssh_fields import dump_string
from gitstore.signatures.web_key import key_id

LABEL = "waypost"
_INPUT = re.compile(
    rf'(?:^|, ?){LABEL}=(\("content-digest"\);created=([0-9]{{1,12}});keyid="([A-Za-z0-9_-]+)";alg="ed25519")'
)
_SIGNATURE = re.compile(rf"(?:^|, ?){LABEL}=:([A-Za-z0-9+/=]+):")


class InvalidMessage(ValueError):
    """A response whose signature does not count; the message is a sentence."""


class SignedMessage(NamedTuple):
    """A response that was verified: its key, and the time of its signature in seconds since 1970."""

    key: PublicKey
    created: int


def sign_message(key: SigningKey, content: bytes, created: int) -> tuple[tuple[str, str], ...]:
    """Return the headers with the digest and the signature of content. Equal content at an equal time has equal ones."""
    digest = dump_digest(content)
    parameters = f'("content-digest");created={created};keyid="{key_id(key.public)}";alg="ed25519"'
    signature = b64encode(key.sign(_base(digest, parameters))).decode()
    return (
        ("content-digest", digest),
        ("signature-input", f"{LABEL}={parameters}"),
        ("signature", f"{LABEL}=:{signature}:"),
    )


def verify_message(headers: Mapping[str, str], content: bytes, keys: Iterable[PublicKey]) -> SignedMessage:
    """Return the key that signed a response, whose headers have lower-case names. Raises InvalidMessage."""
    given, signature = (
        _INPUT.search(headers.get("signature-input", "")),
        _SIGNATURE.search(headers.get("signature", "")),
    )
    if given is None or signature is None:
        raise InvalidMessage("The response has no signature of Waypost.")
    digest = headers.get("content-digest", "")
    if digest != dump_digest(content):
        raise InvalidMessage("The response has another content than the one that was signed.")
    parameters, created, name = given.groups()
    key = next((each for each in keys if key_id(each) == name), None)
    if key is None:
        raise InvalidMessage(f"The response is signed with the key {name}, which is not among the trusted ones.")
    try:
        value = dump_string(ED25519.encode()) + dump_string(b64decode(signature[1]))
        is_valid = key.verifies(value, _base(digest, parameters))
    except (InvalidKey, ValueError):
        is_valid = False
    if not is_valid:
        raise InvalidMessage("The signature of the response is not one by its key.")
    return SignedMessage(key, int(created))


def dump_digest(content: bytes) -> str:
    """Return the value of `Content-Digest` for content."""
    return f"sha-256=:{b64encode(sha256(content).digest()).decode()}:"


def _base(digest: str, parameters: str) -> bytes:
    """Return the bytes that are signed: https://www.rfc-editor.org/rfc/rfc9421#section-2.5."""
    return f'"content-digest": {digest}\n"@signature-params": {parameters}'.encode()
