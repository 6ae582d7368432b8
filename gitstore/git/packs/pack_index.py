"""The index of a pack, version 2, mapped: read entry by entry, checked as a whole, and written.

See https://git-scm.com/docs/gitformat-pack#_version_2_pack_idx_files_support_packs_larger_than_4_gib_and
"""

import mmap
import os
import struct
import sys
from array import array
from collections.abc import Iterator, Sequence
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

from gitstore.git.packs.new_pack import DamagedObject

_MAGIC = b"\377tOc\0\0\0\2"
_FAN_OUT = 8
_NAMES = _FAN_OUT + 4 * 256
_ID = 20
_TRAILER = 2 * _ID
_LARGE = 1 << 31
_COUNT = struct.Struct(">I")
_WIDE = struct.Struct(">Q")
_CHUNK = 1 << 20


class IndexEntry(NamedTuple):
    """One object of a pack: its id, the place of its entry, and the CRC-32 of the entry's bytes."""

    id: bytes
    offset: int
    crc: int


class PackIndex:
    """An index, mapped. Raises DamagedObject for a file that is no index of this version."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as ex:  # an empty file cannot be mapped
            raise DamagedObject(path.name) from ex
        if len(self._data) < _NAMES + _TRAILER or self._data[:_FAN_OUT] != _MAGIC:
            self._data.close()
            raise DamagedObject(path.name)
        self.count = self._fan_out(255)
        self._crcs = _NAMES + _ID * self.count
        self._offsets = self._crcs + 4 * self.count
        self._wide = self._offsets + 4 * self.count
        if len(self._data) < self._wide + _TRAILER:
            self._data.close()
            raise DamagedObject(path.name)

    def close(self) -> None:
        """Unmap the file."""
        self._data.close()

    @property
    def pack_checksum(self) -> bytes:
        """The checksum of the pack that the index belongs to."""
        return self._data[-_TRAILER:-_ID]

    def id_at(self, place: int) -> bytes:
        """Return the id at a place in the order of ids."""
        at = _NAMES + _ID * place
        return self._data[at : at + _ID]

    def crc_at(self, place: int) -> int:
        """Return the CRC-32 of the entry at a place."""
        found: int = _COUNT.unpack_from(self._data, self._crcs + 4 * place)[0]
        return found

    def offset_at(self, place: int) -> int:
        """Return the offset in the pack of the entry at a place."""
        found: int = _COUNT.unpack_from(self._data, self._offsets + 4 * place)[0]
        if found < _LARGE:
            return found
        at = self._wide + 8 * (found - _LARGE)
        if at + 8 > len(self._data) - _TRAILER:
            raise DamagedObject(self.path.name)
        wide: int = _WIDE.unpack_from(self._data, at)[0]
        return wide

    def ids(self) -> list[bytes]:
        """List the ids of all objects, in their order."""
        table = self._data[_NAMES : self._crcs]
        return [table[at : at + _ID] for at in range(0, len(table), _ID)]

    def crcs(self) -> "array[int]":
        """List the CRC-32 of the entry of each object, in the order of the ids."""
        return self._column(self._crcs)

    def offsets(self) -> "array[int]":
        """List the offset of the entry of each object, in the order of the ids."""
        found = self._column(self._offsets)
        if self._wide + _TRAILER == len(self._data):  # all are small
            return found
        return array("Q", map(self.offset_at, range(self.count)))

    def find(self, object_id: bytes) -> int | None:
        """Return the place of an object; None if the pack does not have it."""
        first = object_id[0]
        low, high = self._fan_out(first - 1) if first else 0, self._fan_out(first)
        while low < high:
            middle = (low + high) // 2
            found = self.id_at(middle)
            if found == object_id:
                return middle
            if found < object_id:
                low = middle + 1
            else:
                high = middle
        return None

    def locate(self, object_id: bytes) -> int | None:
        """Return the offset of an object in the pack; None if the pack does not have it."""
        place = self.find(object_id)
        return None if place is None else self.offset_at(place)

    def check(self) -> None:
        """Raise DamagedObject unless the checksum of the whole file holds."""
        digest, end = sha1(usedforsecurity=False), len(self._data) - _ID
        for at in range(0, end, _CHUNK):
            digest.update(self._data[at : min(at + _CHUNK, end)])
        if digest.digest() != self._data[end:]:
            raise DamagedObject(self.path.name)

    def _column(self, start: int) -> "array[int]":
        found = array("I", self._data[start : start + 4 * self.count])
        if sys.byteorder == "little":
            found.byteswap()
        return found

    def _fan_out(self, byte: int) -> int:
        found: int = _COUNT.unpack_from(self._data, _FAN_OUT + 4 * byte)[0]
        return found


def write_index(path: Path, entries: Sequence[IndexEntry], pack_checksum: bytes) -> None:
    """Write a new index of entries that are in the order of their ids, durably."""
    digest = sha1(usedforsecurity=False)
    with path.open("xb") as file:
        for part in _index_parts(entries, pack_checksum):
            digest.update(part)
            file.write(part)
        file.write(digest.digest())
        file.flush()
        os.fsync(file.fileno())


def _index_parts(entries: Sequence[IndexEntry], pack_checksum: bytes) -> Iterator[bytes]:
    counts = [0] * 256
    for entry in entries:
        counts[entry.id[0]] += 1
    yield _MAGIC
    total = 0
    for count in counts:
        total += count
        yield _COUNT.pack(total)
    yield from (entry.id for entry in entries)
    yield from (_COUNT.pack(entry.crc) for entry in entries)
    wide = array("Q")
    for entry in entries:
        yield _COUNT.pack(entry.offset if entry.offset < _LARGE else _LARGE + len(wide))
        if entry.offset >= _LARGE:
            wide.append(entry.offset)
    yield from map(_WIDE.pack, wide)
    yield pack_checksum
