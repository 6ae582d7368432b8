"""The tables of a file of rules from those of the file before an edit: only the changed records are encoded again."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

from content.matching.canonical import split_host
from content.matching.onward import target_host
from content.records.record import Record, Redirect
from gitstore.compiled.segments.canonical_items import CanonicalItems, canonical_items
from gitstore.compiled.segments.key_table import KeyEntries, patch_table
from gitstore.compiled.segments.segment_tables import SegmentTables, build_tables, find_exact_key
from gitstore.yamlfiles.rule_window import count_equal_ends

T = TypeVar("T")
_MOST = 4  # if more than one record in so many changed, all are encoded


def patch_tables(tables: SegmentTables, before: Sequence[Record], records: Sequence[Record]) -> SegmentTables:
    """Return what `build_tables` returns for the records; `tables` are those of the records `before`."""
    first, below = count_equal_ends(before, records)
    end, new_end = len(before) - below, len(records) - below
    if (end - first + new_end - first) * _MOST > len(records):
        return build_tables(records)
    new, gone = build_tables(records[first:new_end]), build_tables(before[first:end])
    kept = [*records[:first], *records[new_end:]]
    begin, stop = tables.offsets[first], tables.offsets[end]
    offsets = [
        *tables.offsets[:first],
        *(begin + offset for offset in new.offsets),
        *(begin + new.offsets[-1] + offset - stop for offset in tables.offsets[end + 1 :]),
    ]
    place = _Places(first, end, new_end - end)
    return SegmentTables(
        memoryview(b"".join([tables.items[:begin], new.items, tables.items[stop:]])),
        offsets,
        [*tables.ids[:first], *new.ids, *tables.ids[end:]],
        array("Q", [*tables.fingerprints[:first], *new.fingerprints, *tables.fingerprints[end:]]),
        _patch_keys(tables.keys, new.keys, first, (end, new_end)),
        [(at, type_, source) for at, (type_, source) in place.join(_by_position(tables), _by_position(new))],
        _patch_hosts(tables.hosts, gone.hosts, new.hosts, kept, _host),
        _patch_hosts(tables.target_hosts, gone.target_hosts, new.target_hosts, kept, _target_host),
        dict(place.join(tables.extras.items(), new.extras.items())),
        _patch_canonical(tables.canonical, new.canonical, place, offsets),
    )


class _Places:
    """The places of entries by position when the records from `first` to before `end` change, and later ones move."""

    def __init__(self, first: int, end: int, grown: int) -> None:
        self._first, self._end, self._grown = first, end, grown

    def join(self, old: Iterable[tuple[int, T]], new: Iterable[tuple[int, T]]) -> Iterator[tuple[int, T]]:
        """Yield the entries of both in the order of positions; `old` without those of the changed records."""
        entries = list(old)
        return chain(
            ((at, entry) for at, entry in entries if at < self._first),
            ((at + self._first, entry) for at, entry in new),
            ((at + self._grown, entry) for at, entry in entries if at >= self._end),
        )


def _by_position(tables: SegmentTables) -> Iterator[tuple[int, tuple[str, str]]]:
    return ((at, (type_, source)) for at, type_, source in tables.patterns)


def _patch_keys(old: Sequence[int], new: Sequence[int], first: int, ends: tuple[int, int]) -> list[int]:
    table = memoryview(array("Q", old)).cast("B")
    patched = patch_table(table, first, KeyEntries((), ends[0] - first), KeyEntries(new, ends[1] - first))
    return list(array("Q", patched))


def _patch_hosts(
    old: frozenset[str],
    gone: frozenset[str],
    new: frozenset[str],
    kept: Sequence[Record],
    host_of: Callable[[Record], str | None],
) -> frozenset[str]:
    """Return the hosts without those that only the `gone` records named."""
    lost = {host for host in gone - new if not any(host_of(record) == host for record in kept)}
    return (old - lost) | new


def _host(record: Record) -> str | None:
    key = find_exact_key(record)
    return split_host(key)[0] if key and not key.startswith("/") else None


def _target_host(record: Record) -> str | None:
    return target_host(record) if isinstance(record, Redirect) else None


def _patch_canonical(
    old: CanonicalItems, new: CanonicalItems, place: _Places, offsets: Sequence[int]
) -> CanonicalItems:
    joined = place.join(old.by_position().items(), new.by_position().items())
    return canonical_items(dict(joined), offsets)
