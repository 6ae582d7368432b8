"""The alignment of two lists: the records that stay in place, and those that are removed from one and added to the other."""

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)


class Alignment(NamedTuple):
    """Positions: of the old list's removed records, the new list's added ones, and of those kept, in both lists.

    All are in ascending order. A record that changed its place among the kept ones is removed and added.
    """

    removed: list[int]
    added: list[int]
    kept: list[tuple[int, int]]


def align(old: Sequence[K], new: Sequence[K]) -> Alignment:
    """Align two lists by the keys of their records, and keep as many as possible; duplicates are paired in order."""
    head = _shared_head(old, new)
    tail = _shared_tail(old, new, head)
    kept = [(at, at) for at in range(head)]
    kept += _longest_kept(_pairs(old, new, head, tail))
    kept += [(len(old) - at, len(new) - at) for at in range(tail, 0, -1)]
    return Alignment(
        _others(len(old), [before for before, _ in kept]), _others(len(new), [after for _, after in kept]), kept
    )


def _shared_head(old: Sequence[K], new: Sequence[K]) -> int:
    shorter = min(len(old), len(new))
    return next((at for at in range(shorter) if old[at] != new[at]), shorter)


def _shared_tail(old: Sequence[K], new: Sequence[K], head: int) -> int:
    rest = min(len(old), len(new)) - head
    return next((at for at in range(rest) if old[-1 - at] != new[-1 - at]), rest)


def _pairs(old: Sequence[K], new: Sequence[K], head: int, tail: int) -> list[tuple[int, int]]:
    """Pair the records that both lists have between head and tail, in the order of the new list."""
    places: dict[K, list[int]] = {}
    for at in range(len(old) - tail - 1, head - 1, -1):
        places.setdefault(old[at], []).append(at)
    return [
        (found.pop(), at) for at in range(head, len(new) - tail) if (found := places.get(new[at])) is not None and found
    ]


def _longest_kept(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest part of the pairs that is in order in the old list too: patience sorting."""
    tops: list[int] = []  # the smallest end of a sequence of each length
    ends: list[int] = []  # the index of its pair
    before: list[int] = []
    for index, (place, _) in enumerate(pairs):
        length = bisect_left(tops, place)
        before.append(ends[length - 1] if length else -1)
        tops[length : length + 1] = [place]
        ends[length : length + 1] = [index]
    found = []
    at = ends[-1] if ends else -1
    while at >= 0:
        found.append(pairs[at])
        at = before[at]
    return found[::-1]


def _others(length: int, places: Sequence[int]) -> list[int]:
    taken = bytearray(length)
    for place in places:
        taken[place] = 1
    return [at for at in range(length) if not taken[at]]
