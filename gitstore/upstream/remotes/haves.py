"""The haves of a fetch: commits of this side from which the other one makes a small pack."""

from itertools import islice

from gitstore.git.repository import Repository
from gitstore.layout import CommitId

_RECENT = 64  # first parents of a commit that are haves, before they are further and further apart
_MOST_READ = 4_096  # commits: of an older common one, the other side sends more than is needed


def choose_haves(repository: Repository, start: CommitId, most: int = _MOST_READ) -> list[CommitId]:
    """Return first parents of a commit: the newest ones, then ever fewer; of a long history `most` commits are read."""
    found, step, following = list[CommitId](), 1, 0
    for number, info in enumerate(islice(repository.first_parents(start), most)):
        if number == following:
            found.append(info.id)
            step = 1 if number < _RECENT else step * 2
            following += step
    return found
