"""The key of the service: each fault is named, with what to do."""

from pathlib import Path

import pytest

from gitstore.errors import SigningKeyUnusable
from gitstore.signatures.signing_key import load_signing_key
from tests.ssh_keys import Key, KeyMaker, verifies


def test_ssh_keygen_accepts_what_the_key_signs(service_key: Key, tmp_path: Path) -> None:
    key = load_signing_key(service_key.path)
    signers, signature = tmp_path / "signers", tmp_path / "signature"
    signers.write_text(service_key.line(), "utf-8")
    signature.write_bytes(key.sign_commit(b"payload") + b"\n")
    assert verifies(signers, service_key.principal, signature, b"payload")
    assert not verifies(signers, service_key.principal, signature, b"payload!")
    assert (key.public.text(), key.public.fingerprint) == (service_key.public, service_key.fingerprint)


def refusal(path: Path) -> str:
    with pytest.raises(SigningKeyUnusable) as caught:
        load_signing_key(path)
    return str(caught.value)


def test_a_missing_key(tmp_path: Path) -> None:
    path = tmp_path / "none"
    assert refusal(path) == f"The signing key {path} is missing. Make one: ssh-keygen -t ed25519 -N '' -f {path}"


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    assert "cannot be read: Is a directory. Give it to the user of the service" in refusal(tmp_path)


@pytest.mark.parametrize(("kind", "bits"), [("rsa", "2048"), ("ecdsa", "256")])
def test_a_key_of_another_kind(ssh_keygen: KeyMaker, tmp_path: Path, kind: str, bits: str) -> None:
    key = ssh_keygen(tmp_path, "service", kind, bits=bits)
    another = f"Make another, and name it in signing_key: ssh-keygen -t ed25519 -N '' -f {key.path}-ed25519"
    assert refusal(key.path).endswith(f"is not an Ed25519 key. {another}")


def test_a_key_with_a_passphrase(ssh_keygen: KeyMaker, tmp_path: Path) -> None:
    key = ssh_keygen(tmp_path, "service", passphrase="correct horse")
    assert "has a passphrase. Remove it: ssh-keygen -p -N ''" in refusal(key.path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_key_that_others_can_read(service_key: Key, mode: int) -> None:
    service_key.path.chmod(mode)
    assert f"can be read by others (mode {mode:04o}). Close it: chmod 600 {service_key.path}" in refusal(
        service_key.path
    )


def test_a_public_key(service_key: Key) -> None:
    public = service_key.path.with_name(f"{service_key.path.name}.pub")
    public.chmod(0o600)
    assert "is a public key" in refusal(public)


@pytest.mark.parametrize("data", [b"", b"\x00\xff", b"-----BEGIN OPENSSH PRIVATE KEY-----\n!!!\n"])
def test_bytes_that_are_no_key(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "key"
    path.write_bytes(data)
    path.chmod(0o600)
    assert "is not a private key of OpenSSH" in refusal(path)
