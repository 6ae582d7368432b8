"""Public keys of SSH: their fingerprints, and the signatures that they verify."""

import binascii
from base64 import b64decode, b64encode
from hashlib import sha256

from gitstore.signatures.security_key import PLAIN_KINDS, unwrap
from gitstore.signatures.ssh_fields import FieldReader, MalformedFields

ED25519 = "ssh-ed25519"
_RSA = "ssh-rsa"
_LEAST_RSA_BITS = 2048
_RSA_HASHES = {"rsa-sha2-256": "SHA256", "rsa-sha2-512": "SHA512"}
_ECDSA_HASHES = {
    "ecdsa-sha2-nistp256": "SHA256",
    "ecdsa-sha2-nistp384": "SHA384",
    "ecdsa-sha2-nistp521": "SHA512",
}
SUPPORTED = (ED25519, *_ECDSA_HASHES, _RSA, *PLAIN_KINDS)


class InvalidKey(ValueError):
    """Bytes that are no public key of a supported kind; the message is a part of a sentence."""


class PublicKey:
    """A public key of SSH; two keys are equal if their bytes are. Raises InvalidKey for bytes that are no key."""

    def __init__(self, blob: bytes) -> None:
        try:
            self.kind = FieldReader(blob).text()
        except MalformedFields as ex:
            raise InvalidKey("the key is damaged") from ex
        self.blob = blob

    @classmethod
    def parse(cls, kind: str, encoded: str) -> "PublicKey":
        """Read a key from its kind and its base64, the two words of a line of `id_ed25519.pub`."""
        try:
            found = cls(b64decode(encoded, validate=True))
        except binascii.Error as ex:
            raise InvalidKey("the key is not base64") from ex
        if found.kind != kind:
            raise InvalidKey(f"the key is of the kind {found.kind[:50]!r}, not {kind!r}")
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicKey) and other.blob == self.blob

    def __hash__(self) -> int:
        return hash(self.blob)

    @property
    def fingerprint(self) -> str:
        """The fingerprint, as `ssh-keygen -l` prints it."""
        return "SHA256:" + b64encode(sha256(self.blob).digest()).rstrip(b"=").decode()

    def text(self) -> str:
        """Return the key as a line of `id_ed25519.pub`, without a comment."""
        return f"{self.kind} {b64encode(self.blob).decode()}"

    def verifies(self, value: bytes, data: bytes) -> bool:
        """Tell whether a signature in SSH's form is one of the data by this key.

        Raises InvalidKey for an unsupported key, and NotTouched for a signature by a security key without a touch.
        """
        fields = FieldReader(value)
        try:
            if self.kind in PLAIN_KINDS:
                plain = unwrap(self.blob, value, data)
                return PublicKey(plain.key).verifies(plain.value, plain.data)
            algorithm, signature = fields.text(), fields.string()
            fields.require_end()
            return self._verifies(algorithm, signature, data)
        except MalformedFields:
            return False

    def _verifies(self, algorithm: str, signature: bytes, data: bytes) -> bool:
        from cryptography.exceptions import (  # noqa: PLC0415 - takes 30 ms, which only a push with signatures needs
            InvalidSignature,
            UnsupportedAlgorithm,
        )
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - as above
        from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils  # noqa: PLC0415 - as above

        if self.kind not in SUPPORTED:
            raise InvalidKey(f"the kind of key {self.kind[:60]!r} is not supported; use an Ed25519, ECDSA or RSA key")
        try:
            key = serialization.load_ssh_public_key(self.text().encode())
        except (ValueError, UnsupportedAlgorithm) as ex:
            raise InvalidKey("the key is damaged") from ex
        if isinstance(key, rsa.RSAPublicKey):
            _require_strong_rsa(key.key_size, algorithm)
        try:
            if isinstance(key, ed25519.Ed25519PublicKey) and algorithm == ED25519:
                key.verify(signature, data)
            elif isinstance(key, ec.EllipticCurvePublicKey) and algorithm == self.kind:
                der = utils.encode_dss_signature(*_load_pair(signature))
                key.verify(der, data, ec.ECDSA(getattr(hashes, _ECDSA_HASHES[algorithm])()))
            elif isinstance(key, rsa.RSAPublicKey) and algorithm in _RSA_HASHES:
                padded = signature.rjust(key.key_size // 8, b"\0")  # OpenSSH takes one without leading zeros too
                key.verify(padded, data, padding.PKCS1v15(), getattr(hashes, _RSA_HASHES[algorithm])())
            else:
                return False
        except (InvalidSignature, MalformedFields):  # the latter in the two numbers of ECDSA
            return False
        except (ValueError, UnsupportedAlgorithm) as ex:
            raise InvalidKey("the key is damaged") from ex
        return True


def _require_strong_rsa(bits: int, algorithm: str) -> None:
    if bits < _LEAST_RSA_BITS:
        raise InvalidKey(f"an RSA key needs {_LEAST_RSA_BITS} bits, and this one has {bits}")
    if algorithm == _RSA:
        raise InvalidKey("RSA with SHA-1 is not safe; sign with rsa-sha2-512, as OpenSSH does since 7.2")


def _load_pair(signature: bytes) -> tuple[int, int]:
    """Return the two numbers of an ECDSA signature."""
    fields = FieldReader(signature)
    pair = int.from_bytes(fields.string(), "big"), int.from_bytes(fields.string(), "big")
    fields.require_end()
    return pair
