"""The haves of a fetch: commits of this side from which the other one makes a small pack."""

from collections.abc import Iterator

from gitstore.git.repository import Repository
from gitstore.layout import CommitId

_RECENT = 64  # first parents of a commit that are haves, before they are further and further apart


def choose_haves(repository: Repository, start: CommitId) -> Iterator[CommitId]:
    """Yield first parents of a commit: the newest ones, then ever fewer."""
    step, following = 1, 0
    for number, info in enumerate(repository.first_parents(start)):
        if number == following:
            yield info.id
            step = 1 if number < _RECENT else step * 2
            following += step
