"""The objects of a pushed pack in arrays, some 60 bytes for each, and the index file that is written from them."""

from array import array
from bisect import bisect_left
from pathlib import Path

from content.computed_sequence import ComputedSequence
from gitstore.git.packs.pack_index import IndexEntry, write_index

_ID_BYTES = 20
_FAN_OUT = 256
NONE = -1
_MAX_DEPTH = 255


class PackObjects:
    """The objects of one pack in their order there: offset, checksum, type, id, and the base of a delta."""

    def __init__(self) -> None:
        self.offsets = array("Q")
        self.kinds = bytearray()  # of a delta 0 until it is resolved
        self.bases = array("i")  # the number of a delta's base, `NONE` for a whole object
        self._depths = bytearray()
        self._checksums = array("I")
        self._ids = bytearray()
        self._first = array("i")  # the first delta of each object, and the next one of the same base
        self._next = array("i")

    def __len__(self) -> int:
        return len(self.offsets)

    def append(self, offset: int, kind: int, object_id: bytes, checksum: int) -> int:
        """Add an object; return its number, from 0."""
        self.offsets.append(offset)
        self.kinds.append(kind)
        self.bases.append(NONE)
        self._depths.append(0)
        self._checksums.append(checksum)
        self._ids += object_id or bytes(_ID_BYTES)
        self._first.append(NONE)
        self._next.append(NONE)
        return len(self.offsets) - 1

    def resolve(self, number: int, kind: int, object_id: bytes) -> None:
        """Set the type and id of a delta."""
        self.kinds[number] = kind
        self._ids[number * _ID_BYTES : (number + 1) * _ID_BYTES] = object_id

    def id(self, number: int) -> bytes:
        """Return the id of an object."""
        return bytes(self._ids[number * _ID_BYTES : (number + 1) * _ID_BYTES])

    def find(self, offset: int) -> int | None:
        """Return the number of the object at an offset; None if none begins there."""
        number = bisect_left(self.offsets, offset)
        return number if number < len(self.offsets) and self.offsets[number] == offset else None

    def link(self, delta: int, base: int) -> None:
        """Note the base of a delta."""
        self.bases[delta] = base
        self._next[delta], self._first[base] = self._first[base], delta

    def chain(self, delta: int, first: int | None) -> int:
        """Note that a delta has the same base as `first`, which is not known yet; return the first one now."""
        self._next[delta] = NONE if first is None else first
        return delta

    def adopt(self, first: int, base: int) -> None:
        """Note the base of a chain of deltas that had none."""
        while first != NONE:
            following = self._next[first]
            self.link(first, base)
            first = following

    def depth(self, delta: int) -> int:
        """Return the number of deltas from a whole object to this one, at most 255; its base is resolved already."""
        self._depths[delta] = min(self._depths[self.bases[delta]] + 1, _MAX_DEPTH)
        return self._depths[delta]

    def has_deltas(self, base: int) -> bool:
        """Tell whether any delta has this base."""
        return self._first[base] != NONE

    def deltas(self, base: int) -> list[int]:
        """Return the deltas of an object."""
        found, each = [], self._first[base]
        while each != NONE:
            found.append(each)
            each = self._next[each]
        return found

    def write_index(self, path: Path, checksum: bytes) -> None:
        """Write the index, durably."""
        write_index(path, _Sorted(self), checksum)

    def sorted(self) -> "array[int]":
        """Return the numbers of the objects in the order of their ids."""
        folders = [array("I") for _ in range(_FAN_OUT)]
        for number in range(len(self)):
            folders[self._ids[number * _ID_BYTES]].append(number)
        order = array("I")
        for numbers in folders:
            order.extend(sorted(numbers, key=self.id))
        return order

    def index_entry(self, number: int) -> IndexEntry:
        """Return the entry of an object in the index."""
        return IndexEntry(self.id(number), self.offsets[number], self._checksums[number])


class _Sorted(ComputedSequence[IndexEntry]):
    """The entries of an index in the order of ids, built one by one."""

    def __init__(self, objects: PackObjects) -> None:
        self._objects = objects
        self._order = objects.sorted()

    def __len__(self) -> int:
        return len(self._order)

    def build(self, index: int) -> IndexEntry:
        return self._objects.index_entry(self._order[index])
