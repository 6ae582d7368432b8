"""The file of signers: read as OpenSSH reads it, and refused where the two could differ."""

import time
from calendar import timegm
from collections.abc import Iterator
from pathlib import Path
from time import gmtime, strftime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitstore.signatures.allowed_signers import InvalidSigners, load_allowed_signers
from tests.ssh_keys import Key, sign, verifies

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHeFpy2UFHRZz0lIyYbmdI/2lGGAz10uYlSCrdrjyVn1"


def find_problems(text: str) -> tuple[str, ...]:
    try:
        load_allowed_signers(text.encode("utf-8", "replace"))
    except InvalidSigners as ex:
        return ex.problems
    return ()


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(InvalidSigners) as caught:
        load_allowed_signers(text.encode())
    return caught.value.problems


def test_lines_comments_and_quoted_principals() -> None:
    text = f'# ours\n\nkim@acme.example {KEY} laptop of Kim\n"Robin Example" {KEY}\na@b,*@acme.example namespaces="git,file" {KEY}\n'
    found = load_allowed_signers(text.encode())
    assert [each.principals for each in found] == ["kim@acme.example", "Robin Example", "a@b,*@acme.example"]
    assert found[0].name.startswith("kim@acme.example SHA256:")
    assert found[2].namespaces == "git,file"


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (f"kim cert-authority {KEY}", "cert-authority is not supported; list the keys of the signers themselves"),
        ("kim ssh-ed25519-cert-v01@openssh.com AAAA", "certificates are not supported"),
        (f"kim valid-after=20300101 {KEY}", "the options 'valid-after=20300101' are not as in namespaces="),
        (f"kim valid-after {KEY}", "the option valid-after is given once, with a value in quotation marks"),
        (f'kim valid-after="20300101Z",valid-before="20300101Z" {KEY}', "valid-before is not later than valid-after"),
        (f'kim valid-after="2030" {KEY}', "the time '2030' is not YYYYMMDD"),
        (f'kim valid-after="20301301" {KEY}', "the time '20301301' is not YYYYMMDD"),
        (f'kim namespaces="git",namespaces="file" {KEY}', "the option namespaces is given once"),
        (f'kim no-touch-required="x" {KEY}', "the option 'no-touch-required' is unknown"),
        (f'kim namespaces="git {KEY}', "a quotation mark has no end"),
        ("kim", "a line has principals, options, the kind of a key and the key"),
        ("kim ssh-ed25519", "a line has principals, options, the kind of a key and the key"),
        ("kim ssh-ed25519 %%%", "the key is not base64"),
        ("kim ssh-ed25519 AAAA", "the key is damaged"),
        (f"kim {KEY.replace('ssh-ed25519 ', 'ssh-rsa ')}", "the key is of the kind 'ssh-ed25519', not 'ssh-rsa'"),
        (f'"" {KEY}', "the principals are empty"),
        (f"k\x07m {KEY}", "the principals have characters that cannot be printed"),
    ],
)
def test_each_fault_has_its_line(line: str, fault: str) -> None:
    (found,) = problems(f"# a comment\n{line}\n")
    assert found.startswith("allowed_signers:2: ")
    assert fault in found


def test_each_fault_is_told_in_order_up_to_ten() -> None:
    found = problems("kim\n" * 12)
    assert [each.partition(" ")[0] for each in found] == [f"allowed_signers:{number}:" for number in range(1, 11)]


def test_a_file_of_more_than_a_mebibyte_is_not_read() -> None:
    longest = f"kim@acme.example {KEY}\n#".ljust(1 << 20, "x")
    assert len(load_allowed_signers(longest.encode())) == 1
    assert problems(f"{longest}x") == ("allowed_signers: The file has more than 1 MiB. Remove lines.",)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the machine be in another time zone."""
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("elsewhere")
def test_times_are_utc_wherever_the_machine_is() -> None:
    text = f'kim valid-after="20300101",valid-before="20300101120000Z" {KEY}'
    (found,) = load_allowed_signers(text.encode())
    noon = timegm((2030, 1, 1, 12, 0, 0))
    assert (found.valid_after, found.valid_before) == (noon - 43_200, noon)


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(InvalidSigners, match="not UTF-8"):
        load_allowed_signers(b"\xff\xfe")


@given(st.text(max_size=100) | st.text('kim "=,\\sh-ed25519aA\t', max_size=60))
def test_any_text_is_read_or_refused_with_its_line(text: str) -> None:
    assert all(problem.startswith("allowed_signers:") for problem in find_problems(text))


@pytest.mark.parametrize(
    "options",
    [
        "",
        'namespaces="git"',
        'namespaces="file"',
        'namespaces="file,git"',
        'namespaces="g*"',
        'namespaces="*,!git"',
        'namespaces="!file,g?t"',
        'namespaces="[g]it"',
        'NAMESPACES="git"',
        'valid-after="20300101Z"',
        'valid-after="20300102Z"',
        'valid-before="20300101Z"',
        'valid-before="202912312359Z"',
        'valid-before="20300101000001Z",valid-after="20300101000000Z"',
        'namespaces="git",valid-after="20290101Z",valid-before="20310101Z"',
        'namespaces="git",valid-after="20290101",valid-before="20310101"',
    ],
)
def test_ssh_keygen_agrees(kim: Key, tmp_path: Path, options: str) -> None:
    """A key counts at a time exactly if ssh-keygen takes it for valid then."""
    signers, signature, message = tmp_path / "signers", tmp_path / "signature", b"message"
    signers.write_text(kim.line(options), "utf-8")
    signature.write_bytes(sign(kim, message))
    (signer,) = load_allowed_signers(signers.read_bytes())
    start = timegm((2030, 1, 1, 0, 0, 0))
    for at in (start - 86_400, start - 1, start, start + 1, start + 86_400):
        ours = not signer.find_fault("git", [at])
        theirs = verifies(signers, kim.principal, signature, message, strftime("%Y%m%d%H%M%SZ", gmtime(at)))
        assert ours == theirs, (options, at)
