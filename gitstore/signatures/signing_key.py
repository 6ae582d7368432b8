"""The key of the service: an Ed25519 key without a passphrase, in a file as `ssh-keygen -t ed25519` writes it."""

import os
import stat
from pathlib import Path
from typing import Any

from gitstore.errors import SigningKeyUnusable
from gitstore.signatures.public_key import ED25519, PublicKey
from gitstore.signatures.ssh_fields import dump_string
from gitstore.signatures.ssh_signature import GIT_NAMESPACE, HASH, SshSignature, dump_signature, signed_data

UNSIGNED = Path(os.devnull)
"""In place of a key: commits go on without a signature, also where those of the service on release have one."""

_MAKE = "Make one: ssh-keygen -t ed25519 -N '' -f <file>"
_MAKE_ANOTHER = "Make another, and name it in signing_key: ssh-keygen -t ed25519 -N '' -f <file>-ed25519"
_MOST_BYTES = 65_536
_OTHERS = 0o077


class SigningKey:
    """A private key of Ed25519; it is never printed, pickled or stored."""

    def __init__(self, private: Any) -> None:
        self._private = private
        raw = private.public_key().public_bytes_raw()
        self.public = PublicKey(dump_string(ED25519.encode()) + dump_string(raw))

    def sign_commit(self, payload: bytes) -> bytes:
        """Return the header `gpgsig` of a commit whose bytes without it are the payload."""
        value = dump_string(ED25519.encode()) + dump_string(self.sign(signed_data(payload)))
        return dump_signature(SshSignature(self.public.blob, GIT_NAMESPACE, HASH, value))

    def sign(self, data: bytes) -> bytes:
        """Return the 64 bytes of the signature of data."""
        return bytes(self._private.sign(data))


def load_signing_key(path: Path) -> SigningKey:
    """Read the key from its file. Raises SigningKeyUnusable, whose message says what to do."""
    data = _read(path)
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415 - takes 30 ms, which only a signer needs
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - as above
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415 - as above

    try:
        found = serialization.load_ssh_private_key(data, None)
    except (TypeError, UnsupportedAlgorithm) as ex:  # TypeError, or ValueError below, for one with a passphrase
        raise _unusable(path, "has a passphrase", "Remove it: ssh-keygen -p -N '' -f <file>") from ex
    except ValueError as ex:
        if "encrypted" in str(ex).lower() or "password" in str(ex).lower():
            raise _unusable(path, "has a passphrase", "Remove it: ssh-keygen -p -N '' -f <file>") from ex
        what = "is a public key" if data.startswith((b"ssh-", b"ecdsa-")) else "is not a private key of OpenSSH"
        raise _unusable(path, what, _MAKE_ANOTHER) from ex
    if not isinstance(found, Ed25519PrivateKey):
        raise _unusable(path, "is not an Ed25519 key", _MAKE_ANOTHER)
    return SigningKey(found)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES)
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    except FileNotFoundError as ex:
        raise _unusable(path, "is missing", _MAKE) from ex
    except OSError as ex:
        raise _unusable(path, f"cannot be read: {ex.strerror or ex}", "Give it to the user of the service") from ex
    if mode & _OTHERS:
        raise _unusable(path, f"can be read by others (mode {mode:04o})", "Close it: chmod 600 <file>")
    return data


def _unusable(path: Path, fault: str, action: str) -> SigningKeyUnusable:
    return SigningKeyUnusable(f"The signing key {path} {fault}. {action.replace('<file>', str(path))}")
