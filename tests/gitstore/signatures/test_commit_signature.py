"""Signatures of commits, made in software: each part that a forger or a slip could change is looked at."""

from base64 import b64decode, b64encode
from collections.abc import Sequence

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gitstore.signatures.allowed_signers import AllowedSigner
from gitstore.signatures.commit_signature import Unsigned, verify_commit
from gitstore.signatures.public_key import PublicKey
from gitstore.signatures.signing_key import SigningKey
from gitstore.signatures.ssh_fields import dump_string
from gitstore.signatures.ssh_signature import (
    MalformedSignature,
    SshSignature,
    dump_signature,
    load_signature,
    signed_data,
)

PAYLOAD = b"tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nHello\n"
KEY = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
KIM = AllowedSigner("kim@acme.example", KEY.public)
NOW = (1_800_000_000,)
Private = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


def find_signer(signature: bytes, *signers: AllowedSigner) -> str:
    """Return the signer of a commit with a signature, or why the signature does not count."""
    head, gap, text = PAYLOAD.partition(b"\n\n")
    header = b"\ngpgsig " + signature.replace(b"\n", b"\n ")
    try:
        return verify_commit(head + header + gap + text, signers or (KIM,), NOW).principals
    except Unsigned as ex:
        return str(ex)


def sign(named: tuple[str, str] = ("git", "sha512"), signed: tuple[str, str] | None = None) -> bytes:
    """Return a signature that names a namespace and a hash; the key `signed` the same ones, unless others are given."""
    value = dump_string(b"ssh-ed25519") + dump_string(KEY.sign(signed_data(PAYLOAD, *(signed or named))))
    return dump_signature(SshSignature(KEY.public.blob, *named, value))


def public_key(private: Private) -> PublicKey:
    """Return the public key of a key."""
    form = (serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    kind, encoded = private.public_key().public_bytes(*form).decode().split()
    return PublicKey.parse(kind, encoded)


def test_a_signature_for_another_namespace_does_not_count() -> None:
    """A file or a letter that a signer signed is no commit."""
    assert find_signer(sign(("file", "sha512"))) == "is signed for the namespace 'file', not 'git'"
    assert "has a wrong signature" in find_signer(sign(signed=("file", "sha512")))


@pytest.mark.parametrize("name", ["sha256", "sha512"])
def test_both_hashes_of_openssh_count_and_are_not_exchanged(name: str) -> None:
    assert find_signer(sign(("git", name))) == KIM.principals
    other = {"sha256": "sha512", "sha512": "sha256"}[name]
    assert "has a wrong signature" in find_signer(sign(("git", name), ("git", other)))


def test_of_several_lines_with_a_key_the_one_that_is_valid_counts() -> None:
    over, later = (
        KIM._replace(principals="over", valid_before=1),
        KIM._replace(principals="later", valid_after=NOW[0] + 1),
    )
    for lines in ((over, KIM, later), (KIM, over, later), (over, later, KIM)):
        assert find_signer(sign(), *lines) == KIM.principals
    assert "the key of over" in find_signer(sign(), over, later)


def test_a_key_of_no_form_does_not_count() -> None:
    signature = SshSignature(b"", "git", "sha512", b"")
    assert find_signer(dump_signature(signature)) == "has a signature that does not count: the key is damaged"
    short = PublicKey(dump_string(b"ssh-ed25519") + dump_string(bytes(31)))
    value = dump_string(b"ssh-ed25519") + dump_string(bytes(64))
    signature = SshSignature(short.blob, "git", "sha512", value)
    found = find_signer(dump_signature(signature), KIM._replace(key=short))
    assert found == "has a signature that does not count: the key is damaged"


def test_a_kind_of_key_that_is_not_supported_is_named() -> None:
    key = PublicKey(dump_string(b"ssh-dss") + dump_string(b"\1") * 4)
    signature = SshSignature(key.blob, "git", "sha512", dump_string(b"ssh-dss") + dump_string(bytes(40)))
    found = find_signer(dump_signature(signature), KIM._replace(key=key))
    assert "the kind of key 'ssh-dss' is not supported; use an Ed25519, ECDSA or RSA key" in found


def sign_rsa(private: rsa.RSAPrivateKey, data: bytes, name: str = "rsa-sha2-512") -> bytes:
    """Return the value of a signature by an RSA key."""
    used: hashes.HashAlgorithm = hashes.SHA1() if name == "ssh-rsa" else hashes.SHA512()  # noqa: S303 - which has to be refused
    return dump_string(name.encode()) + dump_string(private.sign(data, padding.PKCS1v15(), used))


def test_rsa_keys_of_2048_bits_count_and_shorter_ones_are_named() -> None:
    private = rsa.generate_private_key(65537, 2048)
    assert public_key(private).verifies(sign_rsa(private, b"data"), b"data")
    short = rsa.generate_private_key(65537, 1024)  # noqa: S505 - which has to be refused
    assert _find_rsa_signer(short, "rsa-sha2-512").endswith("an RSA key needs 2048 bits, and this one has 1024")


def test_rsa_with_sha_1_is_named() -> None:
    found = _find_rsa_signer(rsa.generate_private_key(65537, 2048), "ssh-rsa")
    assert "has a signature that does not count: RSA with SHA-1 is not safe; sign with rsa-sha2-512" in found


def _find_rsa_signer(private: rsa.RSAPrivateKey, name: str) -> str:
    key = public_key(private)
    value = sign_rsa(private, signed_data(PAYLOAD, "git", "sha512"), name)
    return find_signer(dump_signature(SshSignature(key.blob, "git", "sha512", value)), KIM._replace(key=key))


def test_rsa_signatures_without_their_leading_zeros_count_as_for_openssh() -> None:
    private = rsa.generate_private_key(65537, 2048)
    texts = (b"%d" % number for number in range(10_000))
    data, signature = next(
        (text, found) for text in texts if not (found := private.sign(text, padding.PKCS1v15(), hashes.SHA512()))[0]
    )
    value = dump_string(b"rsa-sha2-512") + dump_string(signature.lstrip(b"\0"))
    assert public_key(private).verifies(value, data)


def test_bytes_after_a_signature_make_it_another_one() -> None:
    value = dump_string(b"ssh-ed25519") + dump_string(KEY.sign(b"data"))
    assert KEY.public.verifies(value, b"data")
    assert not KEY.public.verifies(value + b"\0", b"data")

    private = ec.generate_private_key(ec.SECP256R1())
    pair = utils.decode_dss_signature(private.sign(b"data", ec.ECDSA(hashes.SHA256())))
    numbers = b"".join(dump_string(number.to_bytes(33, "big")) for number in pair)
    for rest in (b"", b"\0"):
        value = dump_string(b"ecdsa-sha2-nistp256") + dump_string(numbers + rest)
        assert public_key(private).verifies(value, b"data") is (rest == b"")


def replaced(changes: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return a signature with parts of its binary form replaced."""
    begin, *lines, end = sign().split(b"\n")
    data = b64decode(b"".join(lines))
    for old, new in changes:
        assert data.count(old) == 1
        data = data.replace(old, new)
    return b"\n".join((begin, b64encode(data), end))


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (b"SSHSIG\0\0\0\1", b"SSHSIX\0\0\0\1", "of an unknown version"),
        (b"SSHSIG\0\0\0\1", b"SSHSIG\0\0\0\2", "of an unknown version"),
        (dump_string(b"sha512"), dump_string(b"md5"), "a hash other than sha256 and sha512"),
    ],
)
def test_another_form_of_signature_is_refused(old: bytes, new: bytes, fault: str) -> None:
    assert load_signature(replaced([])) == load_signature(sign())
    text = replaced([(old, new)])
    with pytest.raises(MalformedSignature, match=fault):
        load_signature(text)
    assert find_signer(text).startswith("has no valid signature: ")


def test_a_signature_has_its_lines_and_nothing_else() -> None:
    begin, *lines, end = sign().split(b"\n")
    for text in ((b"-----BEGIN PGP SIGNATURE-----", *lines, end), (begin, *lines, b"-----END PGP SIGNATURE-----")):
        with pytest.raises(MalformedSignature, match="not one by an SSH key"):
            load_signature(b"\n".join(text))
    with pytest.raises(MalformedSignature, match="damaged"):
        load_signature(b"\n".join((begin, b"!" + lines[0], *lines[1:], end)))
    longer = b64encode(b64decode(b"".join(lines)) + b"\0")
    with pytest.raises(MalformedSignature, match="after its end"):
        load_signature(b"\n".join((begin, longer, end)))
