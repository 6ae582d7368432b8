"""Sorted tables of 64-bit numbers that map a key to positions: 40 bits of hash above 24 bits of position.

A table is read in place from a memory map. A hit may be a collision, so the reader compares the record itself.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

POSITION_BITS = 24
_MASK = (1 << POSITION_BITS) - 1


class KeyEntries(NamedTuple):
    """The part of one file in a table: its sorted entries, with positions from 0, and its number of records."""

    entries: Sequence[int]
    records: int


def key_base(key: str) -> int:
    """Return the number that all entries of a key start from: its hash, position 0."""
    return int.from_bytes(blake2b(key.encode(), digest_size=5).digest()) << POSITION_BITS


def dump_table(entries: Iterable[int]) -> bytes:
    """Return a table of the entries: hash and position of each exact record."""
    # Python's sort merges sorted runs: https://docs.python.org/3/howto/sorting.html
    return array("Q", sorted(entries)).tobytes()


def join_entries(files: Iterable[KeyEntries]) -> list[int]:
    """Join the entries of a whole list: one sorted run per file, so that a later sort only merges them."""
    found: list[int] = []
    base = 0
    for file in files:
        found += [entry + base for entry in file.entries]
        base += file.records
    return found


def patch_table(table: memoryview, at: int, old: KeyEntries, new: KeyEntries) -> bytes:
    """Return the table of a list after the file that begins at position `at` changed from `old` to `new`."""
    grown = new.records - old.records
    end = at + old.records
    unchanged_entries = [
        entry if (entry & _MASK) < at else entry + grown for entry in table.cast("Q") if not at <= entry & _MASK < end
    ]
    return dump_table([*unchanged_entries, *(entry + at for entry in new.entries)])


def find_positions(table: Sequence[int], key: str) -> list[int]:
    """Return the positions whose key has the same hash, in order."""
    if not table:
        return []
    base = key_base(key)
    found = []
    last, size = base | _MASK, len(table)
    at = bisect_left(table, base)
    while at < size and (entry := table[at]) <= last:
        found.append(entry & _MASK)
        at += 1
    return found
