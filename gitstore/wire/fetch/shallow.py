"""Shallow clones: where the history of a client is cut off, before and after a fetch.

https://git-scm.com/docs/shallow
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gitstore.wire.fetch.fetch_request import FetchRequest
from gitstore.wire.packs.commit_graph import CommitGraph, Parents
from gitstore.wire.pkt_lines import MalformedRequest

_ENDLESS = 0x7FFFFFFF  # the depth that C git sends for a whole history


class Cut(NamedTuple):
    """The commits without their parents at a client: those that it had, those that it gets, those that become whole."""

    known: frozenset[bytes] = frozenset()
    added: frozenset[bytes] = frozenset()
    removed: frozenset[bytes] = frozenset()

    def held_parents(self, graph: CommitGraph) -> Parents:
        """Return the parents of commits as the client has them now."""
        return lambda commit: () if commit in self.known else graph.parents(commit)

    def wanted_parents(self, graph: CommitGraph) -> Parents:
        """Return the parents of commits as the client has them after the fetch."""
        cut = (self.known - self.removed) | self.added
        return lambda commit: () if commit in cut else graph.parents(commit)


def find_cut(graph: CommitGraph, request: FetchRequest, wants: Iterable[bytes], refs: Mapping[str, str]) -> Cut:
    """Find where the history is cut off after a fetch. Raises MalformedRequest for one that leaves no commit."""
    starts = [each for each in dict.fromkeys(wants) if graph.is_commit(each)]
    known = frozenset(each for each in map(bytes.fromhex, request.shallow) if graph.is_known_commit(each))
    if not request.is_deepening:
        return Cut(known)
    if request.depth >= _ENDLESS and not request.since and not request.not_refs:
        return Cut(known, removed=frozenset(graph.find_reached(starts, known)))
    if request.depth and request.is_relative:
        inside, edge = _by_depth(graph, graph.find_reached(starts, known), request.depth + 1)
    elif request.depth:
        inside, edge = _by_depth(graph, starts, request.depth)
    else:
        inside, edge = _by_time(graph, starts, request, refs)
    return Cut(known, frozenset(edge - known), frozenset(known & inside))


def _by_depth(graph: CommitGraph, starts: Iterable[bytes], depth: int) -> tuple[set[bytes], set[bytes]]:
    """Return the commits above a depth, whose parents the client gets, and those at it that have parents."""
    inside: set[bytes] = set()
    edge: set[bytes] = set()
    ahead = deque((start, 1) for start in starts)
    seen = {start for start, _ in ahead}
    while ahead:  # level by level, so that each commit comes by its shortest way
        commit, level = ahead.popleft()
        parents = graph.parents(commit)
        if level >= depth:
            edge.update([commit] if parents else [])
            continue
        inside.add(commit)
        ahead.extend((parent, level + 1) for parent in parents if parent not in seen)
        seen.update(parents)
    return inside, edge


def _by_time(
    graph: CommitGraph, starts: Iterable[bytes], request: FetchRequest, refs: Mapping[str, str]
) -> tuple[set[bytes], set[bytes]]:
    excluded = {bytes.fromhex(_resolve(name, refs)) for name in request.not_refs}
    left_out = set(graph.newest_first([graph.follow(each).target for each in excluded], graph.parents))
    taken: set[bytes] = set()

    def is_taken(commit: bytes) -> bool:
        return commit not in left_out and graph.node(commit).time >= request.since

    first = [start for start in starts if is_taken(start)]
    taken.update(graph.newest_first(first, lambda commit: filter(is_taken, graph.parents(commit))))
    if not taken:
        raise MalformedRequest("No commit is left for this shallow fetch.")
    edge = {commit for commit in taken if any(parent not in taken for parent in graph.parents(commit))}
    return taken - edge, edge


def _resolve(name: str, refs: Mapping[str, str]) -> str:
    for full in (name, f"refs/{name}", f"refs/tags/{name}", f"refs/heads/{name}"):
        if full in refs:
            return refs[full]
    raise MalformedRequest(f"There is no ref {name[:200]!r} to leave out.")
