"""Signatures by security keys: ssh-keygen is the reference, and the security key is a fake, since none is plugged in."""

from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, utils

from gitstore.signatures.allowed_signers import load_allowed_signers
from gitstore.signatures.commit_signature import Unsigned, verify_commit
from gitstore.signatures.public_key import PublicKey
from gitstore.signatures.ssh_fields import dump_number, dump_string
from gitstore.signatures.ssh_signature import SshSignature, dump_signature, load_signature, signed_data
from tests.ssh_keys import verifies

PAYLOAD = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nHello\n"
KIM = "kim@acme.example"
NOW = (1_800_000_000,)


@dataclass(frozen=True)
class FakeSecurityKey:
    """A security key in software, with a new key of its kind."""

    private: ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey
    application: bytes = b"ssh:"
    flags: int = 1
    count: int = 7

    @property
    def kind(self) -> bytes:
        """The kind of the key."""
        is_edwards = isinstance(self.private, ed25519.Ed25519PrivateKey)
        return b"sk-ssh-ed25519@openssh.com" if is_edwards else b"sk-ecdsa-sha2-nistp256@openssh.com"

    @property
    def key(self) -> PublicKey:
        """The public key."""
        if isinstance(self.private, ed25519.Ed25519PrivateKey):
            parts: tuple[bytes, ...] = (self.private.public_key().public_bytes_raw(),)
        else:
            form = (serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
            parts = (b"nistp256", self.private.public_key().public_bytes(*form))
        return PublicKey(b"".join(map(dump_string, (self.kind, *parts, self.application))))

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message for Git, as text."""
        state = bytes([self.flags]) + dump_number(self.count)
        data = sha256(self.application).digest() + state + sha256(signed_data(message)).digest()
        if isinstance(self.private, ed25519.Ed25519PrivateKey):
            value = self.private.sign(data)
        else:
            pair = utils.decode_dss_signature(self.private.sign(data, ec.ECDSA(hashes.SHA256())))
            value = b"".join(dump_string(_to_mpint(number)) for number in pair)
        return dump_signature(
            SshSignature(self.key.blob, "git", "sha512", dump_string(self.kind) + dump_string(value) + state)
        )


def _to_mpint(number: int) -> bytes:
    return number.to_bytes(number.bit_length() // 8 + 1, "big")


def make(kind: type) -> FakeSecurityKey:
    """Return a fake security key with a new key."""
    is_edwards = issubclass(kind, ed25519.Ed25519PrivateKey)
    return FakeSecurityKey(
        ed25519.Ed25519PrivateKey.generate() if is_edwards else ec.generate_private_key(ec.SECP256R1())
    )


@pytest.fixture(params=[ed25519.Ed25519PrivateKey, ec.EllipticCurvePrivateKey], ids=["ed25519", "ecdsa"])
def fake(request: pytest.FixtureRequest) -> FakeSecurityKey:
    """Return a fake security key of each kind."""
    return make(request.param)


def find_signer(line: str, signature: bytes) -> str:
    """Return the signer of a commit, or why the signature does not count."""
    head, gap, text = PAYLOAD.partition(b"\n\n")
    header = b"\ngpgsig " + signature.replace(b"\n", b"\n ")
    try:
        return verify_commit(head + header + gap + text, load_allowed_signers(line.encode()), NOW).principals
    except Unsigned as ex:
        return str(ex)


@pytest.mark.usefixtures("ssh_keygen")
def test_ssh_keygen_agrees(fake: FakeSecurityKey, tmp_path: Path) -> None:
    signers, file, line = tmp_path / "signers", tmp_path / "signature", f"{KIM} {fake.key.text()}\n"
    signers.write_text(line, "utf-8")
    cases = {
        "good": fake.sign(PAYLOAD),
        "another message": fake.sign(b"x" + PAYLOAD),
        "another application": replace(fake, application=b"ssh:other").sign(PAYLOAD),
        "another key": make(type(fake.private)).sign(PAYLOAD),
    }
    for name, signature in cases.items():
        file.write_bytes(signature + b"\n")
        assert verifies(signers, KIM, file, PAYLOAD) is (name == "good"), name
        assert (find_signer(line, signature) == KIM) is (name == "good"), name


@pytest.mark.parametrize("part", ["flags", "count"])
def test_state_that_was_changed_afterwards_is_refused(fake: FakeSecurityKey, part: str) -> None:
    changed = replace(fake, flags=5) if part == "flags" else replace(fake, count=5)
    state = bytes([fake.flags]) + dump_number(fake.count), bytes([changed.flags]) + dump_number(changed.count)
    value = load_signature(fake.sign(PAYLOAD)).value
    assert fake.key.verifies(value, signed_data(PAYLOAD))
    assert not fake.key.verifies(value.removesuffix(state[0]) + state[1], signed_data(PAYLOAD))


def test_a_signature_without_a_touch_does_not_count(fake: FakeSecurityKey) -> None:
    line = f"{KIM} {fake.key.text()}\n"
    assert find_signer(line, replace(fake, flags=4).sign(PAYLOAD)) == (
        "has a signature that does not count: the security key was not touched for it"
    )


def test_a_signature_of_another_kind_is_refused(fake: FakeSecurityKey) -> None:
    value = load_signature(fake.sign(PAYLOAD)).value.replace(dump_string(fake.kind), dump_string(b"ssh-ed25519"), 1)
    assert not fake.key.verifies(value, signed_data(PAYLOAD))


def test_bytes_after_the_key_or_the_signature_are_refused(fake: FakeSecurityKey) -> None:
    value = load_signature(fake.sign(PAYLOAD)).value
    assert fake.key.verifies(value, signed_data(PAYLOAD))
    assert not fake.key.verifies(value + b"\0", signed_data(PAYLOAD))
    assert not PublicKey(fake.key.blob + b"\0").verifies(value, signed_data(PAYLOAD))
