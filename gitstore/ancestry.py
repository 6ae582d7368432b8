"""What one commit has and another has not: the commits of a draft."""

from heapq import heappop, heappush

from gitstore.layout import CommitId
from gitstore.repository import CommitInfo, Repository

_NEVER = 1 << 62


def commits_between(repository: Repository, base: CommitId, head: CommitId) -> list[CommitInfo]:
    """The commits that lead to `head` and not to `base`, newer ones first, as `git log base..head` has them.

    Both histories are walked by time, only as deep as they differ. Clocks that went wrong by far may add a commit that
    leads to `base` as well, and never leave one out.
    """
    return _line(repository, base, head) or _Walk(repository, base, head).run()


def _line(repository: Repository, base: CommitId, head: CommitId) -> list[CommitInfo] | None:
    """The commits of a branch that nothing was merged into, without a look at the history of the base; None for others."""
    found, commit = list[CommitInfo](), head
    while commit != base:
        info = repository.commit(commit)
        if len(info.parents) != 1:
            return None
        found.append(info)
        commit = info.parents[0]
    return found


class _Walk:
    def __init__(self, repository: Repository, base: CommitId, head: CommitId) -> None:
        self._repository = repository
        self._ahead: list[tuple[int, bool, CommitId, CommitInfo]] = []  # of one second, those of the base come first
        self._open = 0  # how many of those ahead are not known to lead to the base
        self._of_base: set[CommitId] = set()
        self._found: dict[CommitId, CommitInfo] = {}
        self._oldest = _NEVER
        self._reach(head, is_ours=True)
        self._reach(base, is_ours=False)

    def run(self) -> list[CommitInfo]:
        while self._open or self._may_change():
            _, is_ours, commit, info = heappop(self._ahead)
            self._open -= is_ours
            if commit not in self._of_base and not (is_ours and commit in self._found):
                self._take(info, is_ours=is_ours)
        return [info for commit, info in self._found.items() if commit not in self._of_base]

    def _may_change(self) -> bool:
        """Tell whether the base's side can still reach what was found, as it can where clocks went wrong."""
        return bool(self._ahead) and -self._ahead[0][0] >= self._oldest

    def _take(self, info: CommitInfo, *, is_ours: bool) -> None:
        if is_ours:
            self._found[info.id] = info
            self._oldest = min(self._oldest, info.time)
        else:
            self._of_base.add(info.id)
        for parent in info.parents:
            self._reach(parent, is_ours=is_ours)

    def _reach(self, commit: CommitId, *, is_ours: bool) -> None:
        info = self._repository.commit(commit)
        heappush(self._ahead, (-info.time, is_ours, commit, info))
        self._open += is_ours
