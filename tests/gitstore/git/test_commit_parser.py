"""The fast commit parser returns the same as dulwich, or leaves the commit to dulwich."""

from collections.abc import Iterator

import pytest
from dulwich.objects import Commit

from gitstore.errors import Broken
from gitstore.git.commit_parser import parse_commit, read_loose
from gitstore.git.repository import Repository, _commit_info, open_repository
from gitstore.layout import CommitId
from tests.gitstore.fixtures import Place, put, redirect

TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
WHO = "Ada L. <ada@shop.example> 1700000000 +0100"
HEADERS = [
    (f"author {WHO}", f"committer {WHO}"),
    (f"author {WHO}", f"committer {WHO}", "encoding UTF-8"),
    (f"author {WHO}", f"committer {WHO}", "encoding ISO-8859-1"),
    (f"author {WHO}", f"committer {WHO}", "gpgsig -----BEGIN", " x", " -----END"),
    ("author  <> 1 +0000", "committer  <> 1 +0000"),
    ("author Zoë <z@x> 1 -0930", "committer X <y@z> 9999999999 +0000"),
    ("author a b <c> 1 +0000", "committer a <b> 99999999999 +0000"),
    ("author a 1700000000 +0000", "committer a 1700000000 +0000"),
    ("author a <b <c>> 1 +0000", "committer a <b> 1 +0000"),
]


@pytest.fixture
def repository(place: Place) -> Iterator[Repository]:
    """Open the repository."""
    with open_repository(place.repo) as opened:
        yield opened


def _write(place: Place, *lines: str, text: str = "m\n") -> CommitId:
    data = "\n".join((f"tree {TREE}", f"parent {place.tip}", *lines)) + f"\n\n{text}"
    return CommitId(place.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", data=data.encode()))


@pytest.mark.parametrize("lines", HEADERS, ids=range(len(HEADERS)))
@pytest.mark.parametrize("text", ["m\n", "", "a\n\nb: c\n", "ä\u2028\n"])
def test_the_fast_parser_returns_the_same_as_the_library(
    place: Place, repository: Repository, lines: tuple[str, ...], text: str
) -> None:
    """The commits have the forms that any version of Git has written."""
    commit = _write(place, *lines, text=text)
    assert repository.commit(commit) == repository._objects.read(commit, Commit, _commit_info)


def test_our_own_commits_take_the_fast_path(place: Place, repository: Repository) -> None:
    """Guard: otherwise a page of a history takes three times as long. Packed commits are fast too."""
    place.publish(put(redirect("/a")))
    commits = [CommitId(commit) for commit in place.git("rev-list", "release").split()]
    loose = [parse_commit(commit, read_loose(place.repo, commit) or b"") for commit in commits]
    assert all(loose)
    infos = [repository.commit(commit) for commit in commits]
    place.git("gc", "--quiet", "--prune=now")
    assert [read_loose(place.repo, commit) for commit in commits] == [None] * len(commits)
    with open_repository(place.repo) as packed:
        assert [parse_commit(commit, packed._objects.raw_once(commit, Commit)) for commit in commits] == loose
        assert [packed.commit(commit) for commit in commits] == infos


def test_a_commit_that_is_cut_or_changed_on_disk_is_broken(place: Place, repository: Repository) -> None:
    """Guard: the bytes are checked against the object's name on the fast path too."""
    commit = place.tip
    path = place.repo / "objects" / commit[:2] / commit[2:]
    whole = path.read_bytes()
    for data in (whole[: len(whole) // 2], whole[:30] + bytes([whole[30] ^ 4]) + whole[31:], b""):
        path.chmod(0o644)
        path.write_bytes(data)
        assert parse_commit(commit, read_loose(place.repo, commit) or b"") is None
    with pytest.raises(Broken):
        repository.commit(commit)


def test_another_commit_in_its_place_is_not_taken_for_it(place: Place) -> None:
    """Guard: the name of an object is the checksum of its bytes."""
    commit, other = place.tip, _write(place, f"author {WHO}", f"committer {WHO}")
    assert parse_commit(commit, read_loose(place.repo, other) or b"") is None
    assert parse_commit(other, read_loose(place.repo, other) or b"")
