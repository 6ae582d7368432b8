"""Signatures of responses: those of the RFCs' examples, and none that was changed."""

from base64 import b64decode, urlsafe_b64encode
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from gitstore.errors import SigningKeyUnusable
from gitstore.signatures.message_signature import InvalidMessage, dump_digest, sign_message, verify_message
from gitstore.signatures.public_key import InvalidKey, PublicKey
from gitstore.signatures.signing_key import SigningKey
from gitstore.signatures.ssh_fields import dump_string
from gitstore.signatures.web_key import dump_web_key, key_id, load_public_keys, load_web_key
from tests.ssh_keys import Key, KeyMaker

KEY = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER = SigningKey(Ed25519PrivateKey.from_private_bytes(bytes(32)))


def test_the_digest_is_that_of_the_rfc() -> None:
    """The example of RFC 9530, B.1."""
    content = b'{"hello": "world"}\n'
    assert dump_digest(content) == "sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"


def test_the_id_is_that_of_the_rfc() -> None:
    """The example of RFC 8037, A.2 and A.3."""
    web = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
    key = load_web_key(web)
    assert key_id(key) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
    assert dump_web_key(key)["x"] == web["x"]


def test_the_base_is_that_of_the_rfc() -> None:
    """A client that builds the text of RFC 9421, 2.5, by hand verifies the signature."""
    headers = dict(sign_message(KEY, b"content", 1_700_000_000))
    parameters = headers["signature-input"].removeprefix("waypost=")
    assert parameters == f'("content-digest");created=1700000000;keyid="{key_id(KEY.public)}";alg="ed25519"'
    text = f'"content-digest": {headers["content-digest"]}\n"@signature-params": {parameters}'
    value = b64decode(headers["signature"].removeprefix("waypost=:").removesuffix(":"))
    Ed25519PrivateKey.from_private_bytes(bytes(range(32))).public_key().verify(value, text.encode())


@given(st.binary(max_size=200), st.integers(0, 10**11))
def test_what_is_signed_is_verified(content: bytes, created: int) -> None:
    headers = dict(sign_message(KEY, content, created))
    assert verify_message(headers, content, [OTHER.public, KEY.public]) == (KEY.public, created)
    assert dict(sign_message(KEY, content, created)) == headers


@given(st.data())
def test_any_changed_part_is_refused(data: st.DataObject) -> None:
    content = b"some content"
    headers = dict(sign_message(KEY, content, 1_700_000_000))
    name = data.draw(st.sampled_from(sorted(headers)))
    at = data.draw(st.integers(0, len(headers[name]) - 1))
    char = data.draw(st.characters(min_codepoint=32, max_codepoint=126))
    changed = {**headers, name: headers[name][:at] + char + headers[name][at + 1 :]}
    if changed == headers:
        return
    try:
        verify_message(changed, content, [KEY.public])
    except InvalidMessage:
        return
    # the last digit of base64 has bits that mean nothing
    assert name == "signature"
    assert at == len(headers[name]) - 4


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "has no signature"),
        ({"signature": "", "signature-input": ""}, "has no signature"),
        (
            {"signature-input": 'waypost=("@method");created=1;keyid="a";alg="ed25519"', "signature": "waypost=:AA==:"},
            "no signature",
        ),
    ],
)
def test_other_headers_are_no_signature(headers: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidMessage, match=message):
        verify_message(headers, b"", [KEY.public])


def test_other_content_and_other_keys_are_refused() -> None:
    headers = dict(sign_message(KEY, b"content", 1))
    with pytest.raises(InvalidMessage, match="another content"):
        verify_message(headers, b"content!", [KEY.public])
    with pytest.raises(InvalidMessage, match="not among the trusted"):
        verify_message(headers, b"content", [OTHER.public])


@given(
    st.dictionaries(
        st.sampled_from(("kty", "crv", "x")), st.sampled_from(("OKP", "Ed25519", "AAAA", "é", "")) | st.integers()
    )
)
def test_other_web_keys_are_refused(found: dict[str, object]) -> None:
    with pytest.raises(InvalidKey):
        load_web_key(found)


@pytest.mark.parametrize("changed", [{"kty": "EC"}, {"crv": "X25519"}, {"x": "AAAA"}])
def test_a_web_key_of_another_kind_or_length_is_refused(changed: dict[str, str]) -> None:
    web = dump_web_key(KEY.public)
    assert load_web_key(web) == KEY.public
    with pytest.raises(InvalidKey):
        load_web_key({**web, **changed})


@pytest.mark.parametrize(
    "blob",
    [
        dump_string(b"ssh-rsa") + dump_string(bytes(32)),
        dump_string(b"ssh-ed25519") + dump_string(bytes(31)),
        KEY.public.blob + b"\0",
        KEY.public.blob[:-1],
    ],
)
def test_only_a_whole_ed25519_key_has_a_web_key_and_an_id(blob: bytes) -> None:
    for work in (dump_web_key, key_id):
        with pytest.raises(InvalidKey):
            work(PublicKey(blob))


def test_public_keys_of_files(ssh_keygen: KeyMaker, tmp_path: Path) -> None:
    keys: list[Key] = [ssh_keygen(tmp_path, name) for name in ("one", "two")]
    file = tmp_path / "keys.pub"
    file.write_text("# ours\n\n" + "".join(f"{key.public} a comment\n" for key in keys), "utf-8")
    assert [key.fingerprint for key in load_public_keys(file)] == [key.fingerprint for key in keys]
    assert load_web_key(dump_web_key(load_public_keys(file)[0])) == load_public_keys(file)[0]


@pytest.mark.parametrize(
    "text",
    [
        "ssh-ed25519",
        "ssh-ed25519 AAAA",
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQEA",
        "\x00",
        urlsafe_b64encode(b"x").decode(),
    ],
)
def test_files_without_such_keys(tmp_path: Path, text: str) -> None:
    (tmp_path / "keys.pub").write_text(text, "utf-8")
    with pytest.raises(SigningKeyUnusable, match="is not one of OpenSSH's Ed25519 keys"):
        load_public_keys(tmp_path / "keys.pub")
    with pytest.raises(SigningKeyUnusable, match="cannot be read: No such file"):
        load_public_keys(tmp_path / "none.pub")
