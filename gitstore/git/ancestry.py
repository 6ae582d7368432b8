"""The commits of a draft: reachable from its head, but not from its base."""

from heapq import heappop, heappush

from gitstore.git.repository import CommitInfo, Repository
from gitstore.layout import CommitId


def commits_between(repository: Repository, base: CommitId, head: CommitId) -> list[CommitInfo]:
    """List the commits reachable from `head` and not from `base`, newest first, like `git log base..head`.

    Both histories are walked by commit time, only as deep as they differ. If clocks were far off, the list may contain
    a commit that is also reachable from `base`; it never misses one.
    """
    return _linear_commits(repository, base, head) or _Walk(repository, base, head).run()


def _linear_commits(repository: Repository, base: CommitId, head: CommitId) -> list[CommitInfo] | None:
    """List the commits of a branch without merges, without reading the base's history; None for other branches."""
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
        self._ahead: list[tuple[int, bool, CommitId, CommitInfo]] = []  # in one second, the base's come first
        self._open = 0  # number of entries ahead from the head's side
        self._of_base: set[CommitId] = set()
        self._found: dict[CommitId, CommitInfo] = {}
        self._enqueue(head, is_ours=True)
        self._enqueue(base, is_ours=False)

    def run(self) -> list[CommitInfo]:
        while self._open:
            _, is_ours, commit, info = heappop(self._ahead)
            self._open -= is_ours
            if commit not in self._of_base and not (is_ours and commit in self._found):
                self._visit(info, is_ours=is_ours)
        return [info for commit, info in self._found.items() if commit not in self._of_base]

    def _visit(self, info: CommitInfo, *, is_ours: bool) -> None:
        if is_ours:
            self._found[info.id] = info
        else:
            self._of_base.add(info.id)
        for parent in info.parents:
            self._enqueue(parent, is_ours=is_ours)

    def _enqueue(self, commit: CommitId, *, is_ours: bool) -> None:
        info = self._repository.commit(commit)
        heappush(self._ahead, (-info.time, is_ours, commit, info))
        self._open += is_ours
