"""Sorted tables of 64-bit numbers that find the positions of a key: 40 bits of hash above 24 bits of position.

A table is read in place from a memory map; a hit may be a collision, so the reader compares the record itself.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

POSITION_BITS = 24
_MASK = (1 << POSITION_BITS) - 1


class Held(NamedTuple):
    """What a file gives to a table: its own sorted entries, with positions from 0, and how many records it has."""

    entries: Sequence[int]
    records: int


def key_base(key: str) -> int:
    """The number that all entries of a key begin from: its hash, position 0."""
    return int.from_bytes(blake2b(key.encode(), digest_size=5).digest()) << POSITION_BITS


def dump_table(entries: Iterable[int]) -> bytes:
    """A table of the entries: hash and position of each exact record."""
    return array("Q", sorted(entries)).tobytes()


def joined_entries(files: Iterable[Held]) -> list[int]:
    """The entries of a whole list: sorted runs, one a file, which sorting the whole then only has to merge."""
    found: list[int] = []
    base = 0
    for file in files:
        found += [entry + base for entry in file.entries]
        base += file.records
    return found


def patched_table(table: memoryview, at: int, old: Held, new: Held) -> bytes:
    """The table of a list in which the one file that begins at position `at` was `old` and is now `new`."""
    grown = new.records - old.records
    end = at + old.records
    kept = [
        entry if (entry & _MASK) < at else entry + grown for entry in table.cast("Q") if not at <= entry & _MASK < end
    ]
    return dump_table([*kept, *(entry + at for entry in new.entries)])


def find_positions(table: Sequence[int], key: str) -> list[int]:
    """The positions whose key has the same hash, in order."""
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
