"""Keys of the service as JSON Web Keys (https://www.rfc-editor.org/rfc/rfc8037), which any client can read."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from gitstore.errors import SigningKeyUnusable
from gitstore.signatures.public_key import ED25519, InvalidKey, PublicKey
from gitstore.signatures.ssh_fields import FieldReader, MalformedFields, dump_string

_MOST_BYTES = 65_536
_RAW_BYTES = 32


def dump_web_key(key: PublicKey) -> dict[str, str]:
    """Return an Ed25519 key as a JSON Web Key; raises InvalidKey for one of another kind."""
    return {"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": key_id(key), "x": _encode(_raw(key))}


def load_web_key(found: Mapping[str, object]) -> PublicKey:
    """Read an Ed25519 key from a JSON Web Key; raises InvalidKey for anything else."""
    if (found.get("kty"), found.get("crv")) != ("OKP", "Ed25519"):
        raise InvalidKey("the key is not an Ed25519 key")
    try:
        text = str(found.get("x"))
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError as ex:
        raise InvalidKey("the key is not base64") from ex
    key = PublicKey(dump_string(ED25519.encode()) + dump_string(raw))
    _raw(key)
    return key


def key_id(key: PublicKey) -> str:
    """Return the id of an Ed25519 key, its thumbprint: https://www.rfc-editor.org/rfc/rfc7638."""
    canonical = f'{{"crv":"Ed25519","kty":"OKP","x":"{_encode(_raw(key))}"}}'
    return _encode(sha256(canonical.encode()).digest())


def load_public_keys(path: Path) -> list[PublicKey]:
    """Read Ed25519 keys from a file with a line for each, as `id_ed25519.pub`. Raises SigningKeyUnusable."""
    try:
        with path.open("rb") as file:
            lines = file.read(_MOST_BYTES).decode().splitlines()
        words = [line.split() for line in lines if line.strip() and not line.startswith("#")]
        found = [PublicKey.parse(*([*each, "", ""][:2])) for each in words]
        for key in found:
            _raw(key)
    except OSError as ex:
        raise SigningKeyUnusable(f"The public key {path} cannot be read: {ex.strerror or ex}. Check the path.") from ex
    except ValueError as ex:  # InvalidKey, and bytes that are not UTF-8
        message = (
            f"The public key {path} is not one of OpenSSH's Ed25519 keys: {ex}. Name the file that ends with .pub."
        )
        raise SigningKeyUnusable(message) from ex
    return found


def _raw(key: PublicKey) -> bytes:
    """Return the 32 bytes of an Ed25519 key."""
    if key.kind != ED25519:
        raise InvalidKey(f"the key is of the kind {key.kind[:50]!r}, not {ED25519!r}")
    fields = FieldReader(key.blob)
    try:
        fields.string()
        raw = fields.string()
        fields.require_end()
    except MalformedFields as ex:
        raise InvalidKey("the key is damaged") from ex
    if len(raw) != _RAW_BYTES:
        raise InvalidKey("the key is damaged")
    return raw


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
