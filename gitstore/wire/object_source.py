"""The objects of a repository for packs that are sent: read quickly, and copied as they are stored where that is possible.

Reads go to the packs directly; what is in none of them is read as by every other reader of the repository.
"""

import mmap
import os
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dulwich.pack import apply_delta

from content.cache import LruCache
from gitstore.errors import Broken
from gitstore.git.object_reader import DAMAGE_ERRORS
from gitstore.git.repository import Repository

OFS_DELTA, REF_DELTA = 6, 7
ID_BYTES = 20
_PACK_HEADER, _TRAILER = 12, 20
_FAN_OUT = struct.Struct(">256I")
_INDEX_HEAD = b"\377tOc\0\0\0\2"
_IDS_AT = len(_INDEX_HEAD) + _FAN_OUT.size
_LARGE = 1 << 31
_CACHED_BYTES = 64 << 20
_LONGEST_CHAIN = 5_000  # of deltas; C git writes at most 4,095
_READ_AHEAD = 64


class Entry(NamedTuple):
    """The head of an object in a pack: its kind or kind of delta, inflated size, base, and the place of its bytes."""

    kind: int
    size: int
    base: int | bytes  # an offset, or an id
    data_at: int


@dataclass(eq=False)
class SourcePack:
    """One pack with its index, both mapped into memory."""

    path: Path
    data: mmap.mmap
    index: mmap.mmap
    _ids: dict[int, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.index[: len(_INDEX_HEAD)] != _INDEX_HEAD:
            raise ValueError(f"{self.path.name} is no index of version 2")
        self._fan_out: tuple[int, ...] = _FAN_OUT.unpack_from(self.index, len(_INDEX_HEAD))
        self.count: int = self._fan_out[-1]

    @property
    def end(self) -> int:
        """The offset of the pack's checksum."""
        return len(self.data) - _TRAILER

    def ids(self) -> list[bytes]:
        """List the ids of all objects, sorted."""
        table = self.index[_IDS_AT : _IDS_AT + ID_BYTES * self.count]
        return [table[at : at + ID_BYTES] for at in range(0, len(table), ID_BYTES)]

    def checksums(self) -> tuple[int, ...]:
        """List the CRC-32 of each object's bytes, by its id."""
        return struct.unpack_from(f">{self.count}I", self.index, _IDS_AT + ID_BYTES * self.count)

    def offsets(self) -> list[int]:
        """List the offset of each object, by its id."""
        small = struct.unpack_from(f">{self.count}I", self.index, self._offsets_at)
        return [self._offset(each) if each >= _LARGE else each for each in small]

    def find(self, object_id: bytes) -> int | None:
        """Return the offset of an object; None if it is not here."""
        first = object_id[0]
        low, high = self._fan_out[first - 1] if first else 0, self._fan_out[first]
        while low < high:
            middle = (low + high) // 2
            at = _IDS_AT + ID_BYTES * middle
            found = self.index[at : at + ID_BYTES]
            if found == object_id:
                at = self._offsets_at + 4 * middle
                return self._offset(int.from_bytes(self.index[at : at + 4], "big"))
            if found < object_id:
                low = middle + 1
            else:
                high = middle
        return None

    def id_at(self, offset: int) -> bytes:
        """Return the id of the object at an offset."""
        if not self._ids:
            self._ids.update(zip(self.offsets(), self.ids(), strict=True))
        return self._ids[offset]

    def entry(self, offset: int) -> Entry:
        """Read the head of the object at an offset: https://git-scm.com/docs/gitformat-pack."""
        data, at = self.data, offset + 1
        byte = data[offset]
        kind, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & 0x80:
            byte = data[at]
            size |= (byte & 0x7F) << shift
            shift += 7
            at += 1
        if kind == OFS_DELTA:
            distance, at = _read_distance(data, at)
            return Entry(kind, size, offset - distance, at)
        if kind == REF_DELTA:
            return Entry(kind, size, data[at : at + ID_BYTES], at + ID_BYTES)
        return Entry(kind, size, 0, at)

    def inflate(self, entry: Entry) -> bytes:
        """Return the bytes of an entry: the object, or the delta."""
        stream = zlib.decompressobj()
        data = stream.decompress(
            self.data[entry.data_at : entry.data_at + entry.size + (entry.size >> 8) + _READ_AHEAD]
        )
        if not stream.eof:
            data += stream.decompress(
                self.data[entry.data_at + entry.size + (entry.size >> 8) + _READ_AHEAD : self.end]
            )
        if len(data) != entry.size:
            raise ValueError(f"an object in {self.path.name} has another size than it claims")
        return data

    def close(self) -> None:
        """Unmap the files."""
        self.data.close()
        self.index.close()

    @property
    def _offsets_at(self) -> int:
        return _IDS_AT + (ID_BYTES + 4) * self.count

    def _offset(self, small: int) -> int:
        if small < _LARGE:
            return small
        at = self._offsets_at + 4 * self.count + 8 * (small - _LARGE)
        return int.from_bytes(self.index[at : at + 8], "big")


def _read_distance(data: mmap.mmap, at: int) -> tuple[int, int]:
    byte = data[at]
    distance = byte & 0x7F
    at += 1
    while byte & 0x80:
        byte = data[at]
        distance = (distance + 1) << 7 | byte & 0x7F
        at += 1
    return distance, at


Place = tuple[SourcePack, int]
"""A pack, and an offset in it."""


class ObjectSource:
    """The objects of an open repository; `packs` are its packs, the one with the most objects first."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self.packs = _open_packs(repository.path / "objects" / "pack")
        self._places: dict[bytes, Place] | None = None
        self._inflated: LruCache[Place, tuple[int, bytes]] = LruCache(_CACHED_BYTES, weigh=lambda found: len(found[1]))

    def close(self) -> None:
        """Close the packs."""
        for pack in self.packs:
            pack.close()

    def index_all(self) -> None:
        """Read the indexes whole: for many look-ups."""
        if self._places is None:
            self._places = {}
            for pack in reversed(self.packs):  # the first pack of an object counts
                self._places.update(
                    (object_id, (pack, at)) for object_id, at in zip(pack.ids(), pack.offsets(), strict=True)
                )

    def place(self, object_id: bytes) -> Place | None:
        """Return the place of an object in a pack; None if it is in none."""
        if self._places is not None:
            return self._places.get(object_id)
        for pack in self.packs:
            if (at := pack.find(object_id)) is not None:
                return pack, at
        return None

    def has(self, object_id: bytes) -> bool:
        """Tell whether an object exists."""
        return self.place(object_id) is not None or self.repository.has(object_id.hex())

    def read(self, object_id: bytes) -> tuple[int, bytes]:
        """Read an object: the number of its kind, and its bytes. Raises Broken."""
        place = self.place(object_id)
        if place is not None:
            with suppress(*DAMAGE_ERRORS):  # another copy may be readable; else the reader says what is damaged
                return self._resolve(place)
        return self.repository.raw(object_id.hex())

    def kind(self, object_id: bytes) -> int:
        """Return the number of an object's kind; of a delta, that of its base. Raises Broken."""
        place = self.place(object_id)
        return self.read(object_id)[0] if place is None else self._kind(object_id, *place)

    def size(self, object_id: bytes) -> int:
        """Return the number of an object's bytes. Raises Broken."""
        place = self.place(object_id)
        if place is not None:
            entry = place[0].entry(place[1])
            if entry.kind < OFS_DELTA:
                return entry.size
        return len(self.read(object_id)[1])

    def _kind(self, object_id: bytes, pack: SourcePack, at: int) -> int:
        for _ in range(_LONGEST_CHAIN):
            entry = pack.entry(at)
            if entry.kind < OFS_DELTA:
                return entry.kind
            if isinstance(entry.base, bytes):
                return self.kind(entry.base)
            at = entry.base
        return self.read(object_id)[0]

    def _resolve(self, place: Place) -> tuple[int, bytes]:
        """Read an object by its deltas, from the nearest base that was read before."""
        pack, at = place
        deltas: list[tuple[Place, bytes]] = []
        while (found := self._inflated.find((pack, at))) is None:
            entry = pack.entry(at)
            data = pack.inflate(entry)
            if entry.kind < OFS_DELTA:
                found = self._inflated.put((pack, at), (entry.kind, data))
                break
            if len(deltas) > _LONGEST_CHAIN:
                raise ValueError("a chain of deltas has no end")
            deltas.append(((pack, at), data))
            at = entry.base if isinstance(entry.base, int) else self._base_in(pack, entry.base)
        kind, data = found
        for each, delta in reversed(deltas):
            data = b"".join(apply_delta(data, delta))
            self._inflated.put(each, (kind, data))
        return kind, data

    def _base_in(self, pack: SourcePack, object_id: bytes) -> int:
        at = pack.find(object_id)
        if at is None:
            raise ValueError("a delta has its base in no pack")
        return at


def spans(offsets: Sequence[int], end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of the entry at each offset; `offsets` are all of a pack, sorted."""
    yield from zip(offsets, [*offsets[1:], end], strict=True)


def end_of(offsets: Sequence[int], offset: int, end: int) -> int:
    """Return the end of the entry at an offset; `offsets` are all of a pack, sorted."""
    at = bisect_right(offsets, offset)
    return offsets[at] if at < len(offsets) else end


def _open_packs(folder: Path) -> list[SourcePack]:
    """Open all packs that can be read; those that another process removes meanwhile are not needed any more."""
    packs = []
    for index in sorted(folder.glob("pack-*.idx")):
        with suppress(OSError, ValueError, struct.error):
            packs.append(SourcePack(index, _map(index.with_suffix(".pack")), _map(index)))
    return sorted(packs, key=lambda pack: -pack.count)


def _map(path: Path) -> mmap.mmap:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
    finally:
        os.close(handle)


def require(condition: object, what: str) -> None:
    """Raise Broken unless a condition holds."""
    if not condition:
        raise Broken(f"The repository is damaged: {what}.")
