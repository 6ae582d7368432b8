"""Sorted tables of 64-bit numbers that find the positions of a key: 40 bits of hash above 24 bits of position.

A table is read in place from a memory map; a hit may be a collision, so the reader compares the record itself.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from hashlib import blake2b

POSITION_BITS = 24
_MASK = (1 << POSITION_BITS) - 1


def key_base(key: str) -> int:
    """The number that all entries of a key begin from: its hash, position 0."""
    return int.from_bytes(blake2b(key.encode(), digest_size=5).digest()) << POSITION_BITS


def dump_table(entries: Iterable[int]) -> bytes:
    """A table of the entries: hash and position of each exact record."""
    return array("Q", sorted(entries)).tobytes()


def find_positions(table: Sequence[int], key: str) -> list[int]:
    """The positions whose key has the same hash, in order."""
    base = key_base(key)
    found = []
    at = bisect_left(table, base)
    while at < len(table) and table[at] <= base | _MASK:
        found.append(table[at] & _MASK)
        at += 1
    return found
