"""The format of SSH signatures: what is written is read back, and whatever is read fails with our errors only."""

from base64 import b64encode
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitstore.signatures.commit_signature import split_commit
from gitstore.signatures.public_key import InvalidKey, PublicKey
from gitstore.signatures.ssh_fields import dump_string
from gitstore.signatures.ssh_signature import MalformedSignature, SshSignature, dump_signature, load_signature

names = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20)
signatures = st.builds(
    SshSignature, st.binary(max_size=200), names, st.sampled_from(("sha256", "sha512")), st.binary(max_size=300)
)
HEADERS = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000"


@given(signatures)
def test_a_signature_reads_back(signature: SshSignature) -> None:
    assert load_signature(dump_signature(signature)) == signature


def armored(data: bytes) -> bytes:
    return b"-----BEGIN SSH SIGNATURE-----\n%b\n-----END SSH SIGNATURE-----" % b64encode(data)


@given(st.binary(max_size=300) | st.binary(max_size=100).map(lambda data: armored(b"SSHSIG\0\0\0\1" + data)))
def test_other_bytes_are_malformed(data: bytes) -> None:
    with pytest.raises(MalformedSignature):
        load_signature(data)


@given(signatures, st.data())
def test_a_shortened_signature_is_malformed(signature: SshSignature, data: st.DataObject) -> None:
    whole = dump_signature(signature)
    cut = data.draw(st.integers(0, len(whole) - 30))
    with pytest.raises(MalformedSignature):
        load_signature(whole[:cut])


@given(
    st.binary(max_size=80), st.binary(max_size=80), st.sampled_from(("ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256"))
)
def test_a_key_of_any_bytes_verifies_nothing(rest: bytes, value: bytes, kind: str) -> None:
    key = PublicKey(dump_string(kind.encode()) + rest)
    is_verified = False
    with suppress(InvalidKey):
        is_verified = key.verifies(dump_string(kind.encode()) + dump_string(value), b"data")
    assert not is_verified


@given(st.binary(max_size=200))
def test_the_payload_is_the_commit_without_its_signature(message: bytes) -> None:
    whole = HEADERS + b"\ngpgsig one\n two\n three\n\n" + message
    assert split_commit(whole) == (HEADERS + b"\n\n" + message, b"one\ntwo\nthree")


def test_a_line_of_the_message_is_no_header() -> None:
    assert split_commit(HEADERS + b"\n\ngpgsig one\n two\n") == (HEADERS + b"\n\ngpgsig one\n two\n", b"")


def test_a_signature_of_another_hash_is_left_out_and_not_used() -> None:
    whole = HEADERS + b"\ngpgsig-sha256 other\n more\ngpgsig one\n\ntext"
    assert split_commit(whole) == (HEADERS + b"\n\ntext", b"one")
