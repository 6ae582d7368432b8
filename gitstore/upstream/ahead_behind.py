"""The distance of release and the upstream's branch, in commits."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

from gitstore.errors import Broken
from gitstore.git.repository import Repository
from gitstore.layout import CommitId

_MOST_COUNTED = 10_000


def count_differences(repository: Repository, release: CommitId, tip: CommitId | None) -> tuple[int, int]:
    """Return the first-parent commits that only release has, and those that only the upstream has; -1 for unknown."""
    if tip == release:
        return 0, 0
    if tip is not None and not repository.has(tip):
        return -1, -1
    ours = dict[CommitId, int]()
    for number, commit in enumerate(_list_first_parents(repository, release)):
        if commit == tip:
            return number, 0
        ours[commit] = number
    theirs = 0
    for commit in _list_first_parents(repository, tip) if tip else ():
        if commit in ours:
            return ours[commit], theirs
        theirs += 1
    return len(ours), theirs


def _list_first_parents(repository: Repository, start: CommitId) -> Iterator[CommitId]:
    with suppress(Broken):
        yield from (info.id for info in islice(repository.first_parents(start), _MOST_COUNTED))
