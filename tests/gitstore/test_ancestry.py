"""The commits of a draft are those that C git names, however its history is knotted."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from gitstore.ancestry import commits_between
from gitstore.layout import CommitId
from gitstore.repository import view
from gitstore.update import Update, update
from tests.gitstore.places import ADA, Place, dice, found

COUNT = 24


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return found(tmp_path / "data")


def grow(opened: Update, chance: random.Random, times: Sequence[int]) -> list[CommitId]:
    """Commits of which each has one or two of the earlier ones as parents, made at these times."""
    tree, commits = opened.commit(opened.release()).tree, [opened.release()]
    for number, moment in enumerate(times):
        opened.clock = lambda moment=moment: moment  # type: ignore[misc]  # a clock for one commit
        parents = tuple(dict.fromkeys(chance.choices(commits[-6:], k=chance.choice((1, 1, 2)))))
        commits.append(opened.write_commit(tree, parents, ADA, f"{number}\n"))
    opened.move("refs/heads/knot", None, commits[-1])
    return commits


def told_by_git(place: Place, base: CommitId, head: CommitId) -> set[str]:
    return set(place.git("rev-list", f"{base}..{head}").split())


@pytest.mark.parametrize("step", [0, 1])
def test_commits_of_any_history_are_those_that_git_names(place: Place, step: int) -> None:
    """With a commit a second, and with all of them in the same second."""
    chance = dice()
    with update(place.repo) as opened:
        begin = opened.commit(opened.release()).time
        commits = grow(opened, chance, [begin + step * number for number in range(COUNT)])
    with view(place.repo) as repository:
        for _ in range(60):
            base, head = chance.choices(commits, k=2)
            assert {info.id for info in commits_between(repository, base, head)} == told_by_git(place, base, head)


def test_clocks_that_go_wrong_never_hide_a_commit(place: Place) -> None:
    """Whoever wrote it would not count as an author."""
    chance = dice()
    with update(place.repo) as opened:
        commits = grow(opened, chance, [chance.choice((0, 1, 10**9, 2 * 10**9)) for _ in range(COUNT)])
        ancestors = {commit: ancestry(opened, commit) for commit in commits}
    with view(place.repo) as repository:
        for _ in range(60):
            base, head = chance.choices(commits, k=2)
            missing = ancestors[head] - ancestors[base]
            assert missing <= {info.id for info in commits_between(repository, base, head)}


def ancestry(opened: Update, commit: CommitId) -> set[CommitId]:
    seen, ahead = {commit}, [commit]
    while ahead:
        new = set(opened.commit(ahead.pop()).parents) - seen
        seen |= new
        ahead += new
    return seen
