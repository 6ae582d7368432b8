"""The pairing of a file's rules with the wanted ones."""

from collections import deque
from collections.abc import Mapping, Sequence

from content.records.record import Page, Record


def pair_rules(
    found: Sequence[Record], wanted: Sequence[Record], renamed: Mapping[str, str] | None = None
) -> list[int | None]:
    """Return, for each wanted record, the position of its old rule; None if it is new.

    Rules are paired by identity, or by the old one if they were `renamed`. If a rule disappears and another one takes
    its place with the same target (a page: the same content), its source or path has changed.
    """
    free: dict[str, deque[int]] = {}
    for position, record in enumerate(found):
        free.setdefault(record.identity, deque()).append(position)
    before = renamed or {}
    first = [_take(free, before[key]) if (key := record.identity) in before else None for record in wanted]
    pairs = [
        _take(free, record.identity) if position is None and record.identity not in before else position
        for position, record in zip(first, wanted, strict=True)
    ]
    left = {position for places in free.values() for position in places}
    return _pair_renamed(found, wanted, pairs, left) if left else pairs


def _take(free: Mapping[str, deque[int]], identity: str) -> int | None:
    places = free.get(identity)
    return places.popleft() if places else None


def _pair_renamed(
    found: Sequence[Record], wanted: Sequence[Record], pairs: list[int | None], left: set[int]
) -> list[int | None]:
    before, paired = -1, []
    for record, position in zip(wanted, pairs, strict=True):
        renamed = (
            position is None and before + 1 in left and _destination_of(found[before + 1]) == _destination_of(record)
        )
        paired.append(before + 1 if renamed else position)
        before = before if paired[-1] is None else paired[-1]
        left.discard(before)
    return paired


def _destination_of(record: Record) -> tuple[str, ...]:
    return ("page", record.content, record.content_file) if isinstance(record, Page) else ("redirect", record.target)
