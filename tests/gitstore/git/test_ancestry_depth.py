"""The commits of a draft are found without a walk through the whole history."""

import pytest

from gitstore.git.ancestry import commits_between
from gitstore.git.repository import Repository, open_repository
from gitstore.git.transaction import update
from gitstore.layout import CommitId
from tests.gitstore.fixtures import ADA, Place

COUNT = 24


def test_history_is_read_only_as_deep_as_the_two_differ(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: the walk ends as soon as all open commits lead to the base. Without that bound it reads the whole history."""
    with update(place.repo) as opened:
        begin = opened.commit(opened.release()).time
        tree, line = opened.commit(opened.release()).tree, [opened.release()]
        for number in range(COUNT):
            opened.clock = lambda moment=begin + number: moment  # type: ignore[misc]  # a clock for one commit
            line.append(opened.write_commit(tree, (line[-1],), ADA, f"{number}\n"))
        side = opened.write_commit(tree, (line[-2],), ADA, "Side\n")
        merge = opened.write_commit(tree, (side, line[-2]), ADA, "Merge\n")
        opened.move("refs/heads/knot", None, merge)
    read: list[CommitId] = []
    real = Repository.commit
    monkeypatch.setattr(Repository, "commit", lambda self, id_: read.append(id_) or real(self, id_))  # type: ignore[func-returns-value] # None, then the commit
    with open_repository(place.repo) as repository:
        found = commits_between(repository, line[-1], merge)
        assert [info.id for info in found] == [merge, side]
        assert set(read) <= {merge, side, *line[-4:]}
        read.clear()
        found = commits_between(repository, line[-4], line[-1])
        assert [info.id for info in found] == read == line[:-4:-1], (
            "of a branch without merges, not even the base is read"
        )
