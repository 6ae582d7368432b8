"""The commits of a draft are those that C git names, in any history."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from gitstore.git.ancestry import commits_between
from gitstore.git.repository import open_repository
from gitstore.git.transaction import Transaction, update
from gitstore.layout import CommitId
from tests.gitstore.fixtures import ADA, Place, create_place, seeded_random

COUNT = 24


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return create_place(tmp_path / "data")


def grow(opened: Transaction, chance: random.Random, times: Sequence[int]) -> list[CommitId]:
    """Write commits at the given times, each with one or two earlier ones as parents."""
    tree, commits = opened.commit(opened.release()).tree, [opened.release()]
    for number, moment in enumerate(times):
        opened.clock = lambda moment=moment: moment  # type: ignore[misc]  # the clock of one commit
        parents = tuple(dict.fromkeys(chance.choices(commits[-6:], k=chance.choice((1, 1, 2)))))
        commits.append(opened.write_commit(tree, parents, ADA, f"{number}\n"))
    opened.move("refs/heads/knot", None, commits[-1])
    return commits


def ancestry_by_git(place: Place, base: CommitId, head: CommitId) -> set[str]:
    return set(place.git("rev-list", f"{base}..{head}").split())


@pytest.mark.parametrize("step", [0, 1])
def test_commits_of_any_history_are_those_that_git_names(place: Place, step: int) -> None:
    """The commits are equal with one commit per second, and with all of them in the same second."""
    chance = seeded_random()
    with update(place.repo) as opened:
        begin = opened.commit(opened.release()).time
        commits = grow(opened, chance, [begin + step * number for number in range(COUNT)])
    with open_repository(place.repo) as repository:
        for _ in range(60):
            base, head = chance.choices(commits, k=2)
            assert {info.id for info in commits_between(repository, base, head)} == ancestry_by_git(place, base, head)


def test_incorrect_clocks_never_hide_a_commit(place: Place) -> None:
    """The author of a hidden commit would not count."""
    chance = seeded_random()
    with update(place.repo) as opened:
        commits = grow(opened, chance, [chance.choice((0, 1, 10**9, 2 * 10**9)) for _ in range(COUNT)])
        ancestors = {commit: ancestry(opened, commit) for commit in commits}
    with open_repository(place.repo) as repository:
        for _ in range(60):
            base, head = chance.choices(commits, k=2)
            missing = ancestors[head] - ancestors[base]
            assert missing <= {info.id for info in commits_between(repository, base, head)}


def ancestry(opened: Transaction, commit: CommitId) -> set[CommitId]:
    seen, ahead = {commit}, [commit]
    while ahead:
        new = set(opened.commit(ahead.pop()).parents) - seen
        seen |= new
        ahead += new
    return seen
