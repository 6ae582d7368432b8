"""The answer to a push: whether the branch has moved, or the host does not want the push."""

from io import BytesIO

import pytest

from gitstore.wire.client.conversation import RemoteRefs, read_report
from gitstore.wire.client.remote_errors import RemoteError, RemoteMoved, RemoteRefused
from gitstore.wire.pkt_lines import FLUSH, pkt_line

REF = "refs/heads/main"
MOVED = [
    "fetch first",
    "non-fast-forward",
    "failed to update ref",
    "failed to lock",
    "cannot lock ref 'refs/heads/main': is at 1234 but expected 5678",
    "incorrect old value provided",
    "reference already exists",
    "another push moved it first; fetch, then push again",
]
REFUSED = [
    "blocked by policy",
    "push declined: blocked, secret found",
    "the branch is locked",
    "file locked by Ada",
    "pre-receive hook declined",
    "cannot lock ref 'refs/heads/main': Unable to create 'main.lock': Permission denied",
]


def refusal(reason: str, said: str = "") -> RemoteError:
    """Return the error of a push that is refused with a reason, after a line of the host's own."""
    report = b"".join(pkt_line(f"{line}\n".encode()) for line in ("unpack ok", f"ng {REF} {reason}")) + FLUSH
    bands = [pkt_line(b"\2" + said.encode())] if said else []
    answer = b"".join([*bands, pkt_line(b"\1" + report), FLUSH])
    with pytest.raises(RemoteError) as caught:
        read_report(BytesIO(answer), RemoteRefs({}, frozenset({"side-band-64k"})), [])
    return caught.value


@pytest.mark.parametrize("reason", MOVED)
def test_a_lost_race_is_a_moved_branch_with_the_words_of_the_host(reason: str) -> None:
    found = refusal(reason, "error: the words of the host")
    assert type(found) is RemoteMoved
    assert reason in str(found)
    assert "the words of the host" in str(found)


@pytest.mark.parametrize("reason", REFUSED)
def test_a_refusal_that_only_has_the_word_lock_is_no_lost_race(reason: str) -> None:
    found = refusal(reason)
    assert type(found) is RemoteRefused
    assert reason in str(found)


def test_a_host_that_may_not_write_its_ref_is_no_lost_race() -> None:
    found = refusal("failed to update ref", "error: cannot lock ref 'refs/heads/main': Permission denied")
    assert type(found) is RemoteRefused
    assert "Permission denied" in str(found)
