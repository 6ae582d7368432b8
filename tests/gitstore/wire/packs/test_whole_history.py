"""The objects of a whole history, found in one walk, are those that `git rev-list --objects` lists."""

from contextlib import closing
from pathlib import Path

import pytest

from gitstore.errors import Broken
from gitstore.git.object_log import object_path
from gitstore.git.repository import open_repository
from gitstore.git.repository_creation import init_repository
from gitstore.wire.packs.commit_graph import CommitGraph
from gitstore.wire.packs.object_source import ObjectSource
from gitstore.wire.packs.whole_history import list_history, list_packed_history
from tests.gitstore.wire.fetch.histories import listed, make_repository, run, tips


def walked(repository: Path, *names: str) -> set[bytes]:
    with open_repository(repository) as opened, closing(ObjectSource(opened)) as source:
        source.index_all()
        return set(list_history(source, tips(repository, *names)))


@pytest.mark.parametrize("seed", range(6))
def test_a_random_history_is_listed_as_by_git(tmp_path: Path, seed: int) -> None:
    repository = make_repository(tmp_path / "made.git", seed)
    assert walked(repository, "release") == listed(repository, "release")
    assert walked(repository, "one", "two") == listed(repository, "one", "two")
    run(repository, "repack", "-adfq")
    assert walked(repository, "release", "one") == listed(repository, "release", "one")


def write_wide(repository: Path, commits: int) -> None:
    """Write a history of folders that are too large to be read entry by entry, in two levels; some come and go."""
    lines = [b""]
    for number in range(commits):
        lines.append(b"commit refs/heads/release\ncommitter G <g@x> %d +0000\ndata 1\nx\n" % (1_700_000_000 + number))
        for file in range(150) if number == 0 else (number, number * 7 % 150):
            for folder in (b"wide", b"wide/inner", b"other"):
                data = b"%b %d %d\n" % (folder, file, number)
                lines.append(b"M 100644 inline %b/%03d\ndata %d\n%b" % (folder, file, len(data), data))
        if number % 5 == 4:
            lines.append(b"D wide/inner\n" if number % 2 else b"R other wide/moved\n")
    run(repository, "fast-import", "--quiet", data=b"".join(lines))


def test_large_folders_are_listed_as_by_git(tmp_path: Path) -> None:
    repository = tmp_path / "made.git"
    init_repository(repository)
    write_wide(repository, 40)
    assert walked(repository, "release") == listed(repository, "release")
    run(repository, "repack", "-adfq", "--depth=8")
    assert walked(repository, "release") == listed(repository, "release")
    assert walked(repository, "release~20") == listed(repository, "release~20")


def test_only_what_packed_commits_reach_is_listed_for_a_clone(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "made.git", 1)
    run(repository, "repack", "-adq")
    packed = run(repository, "rev-parse", "release").decode().strip()
    tree = run(repository, "rev-parse", "release^{tree}").decode().strip()
    new = run(repository, "commit-tree", "-p", packed, "-m", "new", tree).decode().strip()
    with open_repository(repository) as opened, closing(ObjectSource(opened)) as source:
        found = list_packed_history(source, CommitGraph(source), [bytes.fromhex(new)])
    assert found
    assert found.contents.roots == {bytes.fromhex(packed)}
    assert set(found.ids) == listed(repository, "release")


def test_nothing_is_listed_where_nothing_is_packed(tmp_path: Path) -> None:
    repository = tmp_path / "made.git"
    init_repository(repository)
    tree = run(repository, "mktree").decode().strip()
    new = run(repository, "commit-tree", "-m", "new", tree).decode().strip()
    with open_repository(repository) as opened, closing(ObjectSource(opened)) as source:
        assert list_packed_history(source, CommitGraph(source), [bytes.fromhex(new)]) is None


def test_a_lost_folder_is_damage(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "made.git", 2)
    tree = run(repository, "rev-parse", "release^{tree}").decode().strip()
    run(repository, "unpack-objects", "-q", data=run(repository, "pack-objects", "--all", "-q", "--stdout"))
    for path in (repository / "objects/pack").iterdir():
        path.rename(tmp_path / path.name)
    for path in tmp_path.glob("pack-*.pack"):
        run(repository, "unpack-objects", "-q", data=path.read_bytes())
    object_path(repository / "objects", tree).unlink()
    with pytest.raises(Broken, match=tree):
        walked(repository, "release")
