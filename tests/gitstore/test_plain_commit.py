"""The quick way to a commit tells what the library tells, or leaves it to the library."""

from collections.abc import Iterator

import pytest
from dulwich.objects import Commit

from gitstore.errors import Broken
from gitstore.layout import CommitId
from gitstore.plain_commit import parse_plain, read_loose
from gitstore.repository import Repository, _commit_info, view
from tests.gitstore.places import Place, put, redirect

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
    """The repository, opened."""
    with view(place.repo) as opened:
        yield opened


def _write(place: Place, *lines: str, text: str = "m\n") -> CommitId:
    data = "\n".join((f"tree {TREE}", f"parent {place.tip}", *lines)) + f"\n\n{text}"
    return CommitId(place.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", data=data.encode()))


@pytest.mark.parametrize("lines", HEADERS, ids=range(len(HEADERS)))
@pytest.mark.parametrize("text", ["m\n", "", "a\n\nb: c\n", "ä\u2028\n"])
def test_the_quick_way_tells_what_the_library_tells(
    place: Place, repository: Repository, lines: tuple[str, ...], text: str
) -> None:
    """Whatever a commit looks like that some Git has written."""
    commit = _write(place, *lines, text=text)
    assert repository.commit(commit) == repository._read(commit, Commit, _commit_info)


def test_our_own_commits_go_the_quick_way(place: Place, repository: Repository) -> None:
    """Guard: else a page of a history takes three times as long. In a pack too."""
    place.publish(put(redirect("/a")))
    commits = [CommitId(commit) for commit in place.git("rev-list", "release").split()]
    loose = [parse_plain(commit, read_loose(place.repo, commit) or b"") for commit in commits]
    assert all(loose)
    infos = [repository.commit(commit) for commit in commits]
    place.git("gc", "--quiet", "--prune=now")
    assert [read_loose(place.repo, commit) for commit in commits] == [None] * len(commits)
    with view(place.repo) as packed:
        assert [parse_plain(commit, packed._packed(commit)) for commit in commits] == loose
        assert [packed.commit(commit) for commit in commits] == infos


def test_a_commit_that_is_cut_or_changed_on_disk_is_broken(place: Place, repository: Repository) -> None:
    """Guard: what is read is what the name stands for, however quick."""
    commit = place.tip
    path = place.repo / "objects" / commit[:2] / commit[2:]
    whole = path.read_bytes()
    for data in (whole[: len(whole) // 2], whole[:30] + bytes([whole[30] ^ 4]) + whole[31:], b""):
        path.chmod(0o644)
        path.write_bytes(data)
        assert parse_plain(commit, read_loose(place.repo, commit) or b"") is None
    with pytest.raises(Broken):
        repository.commit(commit)


def test_another_commit_in_its_place_is_not_taken_for_it(place: Place) -> None:
    """Guard: the name of an object is the checksum of its bytes."""
    commit, other = place.tip, _write(place, f"author {WHO}", f"committer {WHO}")
    assert parse_plain(commit, read_loose(place.repo, other) or b"") is None
    assert parse_plain(other, read_loose(place.repo, other) or b"")
