"""Keys of the service for tests, made without a program."""

from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gitstore.signatures.signing_key import load_signing_key


def make_key(path: Path) -> Path:
    """Write a new private key of OpenSSH, and return its path."""
    form = serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    path.touch(mode=0o600)
    path.write_bytes(Ed25519PrivateKey.generate().private_bytes(*form))
    return path


def public_key(path: Path) -> Path:
    """Write the public key of a private one beside it, and return its path."""
    public = path.with_name(f"{path.name}.pub")
    public.write_text(f"{load_signing_key(path).public.text()}\n", encoding="ascii")
    return public
