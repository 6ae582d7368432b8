"""What one commit has and another has not: the commits of a draft."""

from heapq import heappop, heappush

from gitstore.layout import CommitId
from gitstore.repository import CommitInfo, Repository


def commits_between(repository: Repository, base: CommitId, head: CommitId) -> list[CommitInfo]:
    """The commits that lead to `head` and not to `base`, newer ones first, as `git log base..head` has them.

    Both histories are walked by time, only as deep as they differ. Clocks that went wrong by far may add a commit that
    leads to `base` as well, and never leave one out.
    """
    return _Walk(repository, base, head).run()


class _Walk:
    def __init__(self, repository: Repository, base: CommitId, head: CommitId) -> None:
        self._repository = repository
        self._ahead: list[tuple[int, CommitId, bool, CommitInfo]] = []
        self._open = 0  # how many of those ahead are not known to lead to the base
        self._released: set[CommitId] = set()
        self._found: dict[CommitId, CommitInfo] = {}
        self._reach(head, released=False)
        self._reach(base, released=True)

    def run(self) -> list[CommitInfo]:
        while self._open:
            _, commit, released, info = heappop(self._ahead)
            self._open -= not released
            if commit in self._released or (not released and commit in self._found):
                continue
            if released:
                self._released.add(commit)
            else:
                self._found[commit] = info
            for parent in info.parents:
                self._reach(parent, released=released)
        return [info for commit, info in self._found.items() if commit not in self._released]

    def _reach(self, commit: CommitId, *, released: bool) -> None:
        info = self._repository.commit(commit)
        heappush(self._ahead, (-info.time, commit, released, info))
        self._open += not released
