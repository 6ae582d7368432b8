"""The graph of commits as a fetch needs it: which commits a client lacks, and whether one reaches another."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from gitstore.errors import Broken
from gitstore.git.packs.new_pack import COMMIT, TAG
from gitstore.wire.packs.object_source import ObjectSource

_HEAD = re.compile(rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)")
_TIME = re.compile(rb"^committer [^\n]*> ([0-9]{1,10}) ", re.MULTILINE)
_TAGGED = re.compile(rb"object ([0-9a-f]{40})\n")
_LINE = len("parent \n") + 40
_PARENT = len("parent ")
_MOST_TAGS = 20  # of tags that name one another
_CLOCK_ERROR = 86_400  # seconds by which the clocks of committers may differ


class Node(NamedTuple):
    """The parts of a commit that lead to other objects; `time` is the committer's, in seconds since 1970."""

    tree: bytes
    parents: tuple[bytes, ...]
    time: int


Parents = Callable[[bytes], Iterable[bytes]]
"""The parents of a commit in the view of one side: a shallow commit has none."""


class Named(NamedTuple):
    """The end of a name: through tags to a commit, or to another object."""

    tags: tuple[bytes, ...]
    target: bytes
    is_commit: bool


class CommitGraph:
    """The commits of a repository, each read once."""

    def __init__(self, source: ObjectSource) -> None:
        self._source = source
        self._nodes: dict[bytes, Node] = {}

    def node(self, commit: bytes) -> Node:
        """Return a commit. Raises Broken if it cannot be read."""
        found = self._nodes.get(commit)
        if found is None:
            found = self._nodes[commit] = _parse(commit, self._source.read(commit)[1])
        return found

    def parents(self, commit: bytes) -> tuple[bytes, ...]:
        """Return all parents of a commit."""
        return self.node(commit).parents

    def is_commit(self, object_id: bytes) -> bool:
        """Tell whether an object exists and is a commit."""
        return object_id in self._nodes or (self._source.has(object_id) and self._source.kind(object_id) == COMMIT)

    def is_known_commit(self, object_id: bytes) -> bool:
        """Tell whether an object of the client is a commit here, by one look, since it may name very many."""
        return object_id in self._nodes or (self._source.is_here(object_id) and self._source.kind(object_id) == COMMIT)

    def follow(self, object_id: bytes) -> Named:
        """Follow tags to what they name. Raises Broken."""
        tags: list[bytes] = []
        while len(tags) < _MOST_TAGS and self._source.kind(object_id) == TAG:
            found = _TAGGED.match(self._source.read(object_id)[1])
            if found is None:
                break
            tags.append(object_id)
            object_id = bytes.fromhex(found[1].decode())
        return Named(tuple(tags), object_id, self._source.kind(object_id) == COMMIT)

    def newest_first(self, starts: Iterable[bytes], parents: Parents) -> Iterator[bytes]:
        """Yield the starts and their ancestors, each once, the newest first."""
        seen = set(starts)
        ahead = [(-self.node(each).time, each) for each in seen]
        heapify(ahead)
        while ahead:
            _, commit = heappop(ahead)
            yield commit
            for parent in parents(commit):
                if parent not in seen:
                    seen.add(parent)
                    heappush(ahead, (-self.node(parent).time, parent))

    def lacking(
        self, wants: Iterable[bytes], haves: Iterable[bytes], wanted_parents: Parents, held_parents: Parents
    ) -> list[bytes]:
        """Return the commits that the wants reach and the haves do not, the newest first.

        It reads no more history than it has to: where clocks differ, it may return commits that the client has.
        """
        held = set(haves)
        ahead = [(-self.node(each).time, each) for each in {*wants, *held}]
        heapify(ahead)
        seen = {each for _, each in ahead}
        found: dict[bytes, None] = {}
        open_wants = len(seen - held)  # commits ahead that the client may lack
        while open_wants:
            _, commit = heappop(ahead)
            if commit in held:
                parents = tuple(held_parents(commit))
                open_wants -= self._hold(parents, held, seen, found, held_parents)
            else:
                found[commit] = None
                parents = tuple(wanted_parents(commit))
                open_wants += len(set(parents) - seen) - 1
            for parent in set(parents) - seen:
                seen.add(parent)
                heappush(ahead, (-self.node(parent).time, parent))
        return [commit for commit in found if commit not in held]

    def _hold(
        self,
        commits: Iterable[bytes],
        held: set[bytes],
        seen: set[bytes],
        found: Mapping[bytes, None],
        parents: Parents,
    ) -> int:
        """Note that the client has commits; return how many of them were ahead as commits that it may lack.

        One that was found before is older than its child by its clock only: its ancestors are the client's as well.
        """
        count, stack = 0, list(commits)
        while stack:
            commit = stack.pop()
            if commit not in held:
                held.add(commit)
                if commit in found:
                    stack.extend(parents(commit))
                else:
                    count += commit in seen
        return count

    def parents_first(self, commits: Sequence[bytes], parents: Parents) -> Iterator[bytes]:
        """Yield commits so that each comes after its parents, whatever their clocks say."""
        left = set(commits)
        for start in reversed(commits):
            stack = [start]
            while stack:
                before = [parent for parent in parents(stack[-1]) if parent in left]
                if before:
                    stack.extend(before)
                elif (commit := stack.pop()) in left:
                    left.remove(commit)
                    yield commit

    def reaches(self, start: bytes, goals: Collection[bytes], parents: Parents) -> bool:
        """Tell whether a commit is one of the goals or has one among its ancestors; much older ones are not followed."""
        wanted = frozenset(goals)
        oldest = min((self.node(goal).time for goal in wanted), default=0) - _CLOCK_ERROR
        for commit in self.newest_first([start], parents):
            if commit in wanted:
                return True
            if self.node(commit).time < oldest:
                return False
        return False

    def find_reached(self, starts: Iterable[bytes], goals: AbstractSet[bytes]) -> set[bytes]:
        """Return those of the goals that the starts reach."""
        missing = set(goals)
        for commit in self.newest_first(starts, self.parents):
            missing.discard(commit)
            if not missing:
                break
        return set(goals) - missing


def _parse(commit: bytes, data: bytes) -> Node:
    head, time = _HEAD.match(data), _TIME.search(data)
    if head is None:
        raise Broken(f"The repository is damaged: {commit.hex()} is no commit.")
    parents = head[2]
    return Node(
        bytes.fromhex(head[1].decode()),
        tuple(bytes.fromhex(parents[at + _PARENT : at + _LINE - 1].decode()) for at in range(0, len(parents), _LINE)),
        int(time[1]) if time else 0,
    )
