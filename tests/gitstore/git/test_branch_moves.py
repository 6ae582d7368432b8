"""The moves of branches: found for every way in which a branch moves, by reading only folders that have changed."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gitstore.git.branch_moves import BranchMoves

OLD, NEW = "a" * 40, "b" * 40
DRAFT, PUSHED = "refs/heads/draft/shop/main", "refs/heads/feature/autumn"


def put(repository: Path, ref: str, head: str = OLD) -> None:
    """Move a ref as Git does: a lock file takes the place of the file."""
    path = repository / ref
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(f"{path.name}.lock")
    lock.write_text(f"{head}\n", "ascii")
    lock.rename(path)


def pack(repository: Path, *lines: str) -> None:
    (repository / "new").write_text("".join(f"{line}\n" for line in lines), "ascii")
    (repository / "new").rename(repository / "packed-refs")


def make_old(repository: Path) -> None:
    """Make all folders older than a tick."""
    past = time.time() - 60
    for folder, _, _ in os.walk(repository):
        os.utime(folder, (past, past))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for ref in (DRAFT, PUSHED, "refs/heads/release", "refs/tags/one"):
        put(tmp_path, ref)
    pack(tmp_path, f"{OLD} refs/heads/draft/shop/packed", f"{OLD} {DRAFT}")
    make_old(tmp_path)
    return tmp_path


@pytest.fixture
def moves(repository: Path) -> BranchMoves:
    found = BranchMoves(repository)
    assert found.look() == {}
    assert found.look() == {}
    return found


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda at: put(at, DRAFT, NEW), {DRAFT: NEW}),
        (lambda at: put(at, PUSHED, NEW), {PUSHED: NEW}),
        (lambda at: put(at, "refs/heads/draft/docs/main"), {"refs/heads/draft/docs/main": OLD}),
        (lambda at: put(at, "refs/heads/draft/shop/packed", NEW), {"refs/heads/draft/shop/packed": NEW}),
        (lambda at: (at / PUSHED).unlink(), {PUSHED: None}),
        (lambda at: (at / DRAFT).unlink(), {DRAFT: OLD}),  # the value in packed-refs takes effect
        (lambda at: ((at / PUSHED).unlink(), (at / PUSHED).parent.rmdir()), {PUSHED: None}),
        (lambda at: pack(at, f"{OLD} {DRAFT}"), {"refs/heads/draft/shop/packed": None}),
        (lambda at: pack(at, f"{NEW} {DRAFT}", f"{OLD} refs/heads/draft/shop/packed"), {}),  # its own file comes first
        (lambda at: put(at, "refs/heads/release", NEW), {}),
        (lambda at: put(at, "refs/tags/one", NEW), {}),
        (lambda at: put(at, DRAFT, "damaged"), {}),
        (lambda at: put(at, "refs/heads/draft/shop/a b"), {}),
        (lambda at: (at / f"{DRAFT}.lock").touch(), {}),
        (lambda at: pack(at, "damaged"), {}),
    ],
)
def test_each_move_is_found_once(
    repository: Path, moves: BranchMoves, change: Callable[[Path], object], expected: dict[str, str | None]
) -> None:
    change(repository)
    assert moves.look() == expected
    assert moves.look() == {}


def test_two_moves_in_one_tick_are_both_found(repository: Path, moves: BranchMoves) -> None:
    """Guard: the folder has the same time after the second one."""
    put(repository, DRAFT, NEW)
    at = (repository / DRAFT).parent.stat()
    assert moves.look() == {DRAFT: NEW}
    put(repository, DRAFT, OLD)
    os.utime((repository / DRAFT).parent, ns=(at.st_atime_ns, at.st_mtime_ns))
    assert moves.look() == {DRAFT: OLD}


def test_a_folder_that_has_not_changed_is_not_read(
    repository: Path, moves: BranchMoves, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, scan = list[str](), os.scandir

    def noted(path: str) -> object:
        read.append(path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", noted)
    moves.look()
    assert read == []
    put(repository, DRAFT, NEW)
    moves.look()
    assert read == [f"{repository}/refs/heads/draft/shop/"]


def test_packing_by_git_tells_the_commits_that_the_branches_have(tmp_path: Path) -> None:
    """A branch may be found that was only written elsewhere; never another commit than its own."""

    def git(*words: str) -> str:
        return subprocess.run(
            ("git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words),
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    git("init", "--quiet", "--bare")
    head = git("commit-tree", "-m", "x", "4b825dc642cb6eb9a060e54bf8d69288fbee4904")
    git("update-ref", DRAFT, head)
    moves = BranchMoves(tmp_path)
    moves.look()
    git("pack-refs", "--all", "--prune")
    assert not (tmp_path / DRAFT).exists()
    assert moves.look() in ({}, {DRAFT: head})
    git("update-ref", "-d", DRAFT)
    assert moves.look() == {DRAFT: None}


def test_a_repository_that_is_missing_has_no_branches(repository: Path, moves: BranchMoves, tmp_path: Path) -> None:
    assert BranchMoves(tmp_path / "missing").look() == {}
    repository.joinpath("refs").rename(tmp_path / "away")
    assert moves.look() == {DRAFT: OLD, PUSHED: None}
