"""One pack as it is on disk: its entries one by one, each checked, and a new index for a pack without one.

Contents are read one at a time: the memory is that of the largest object, of a bounded cache of bases, and of a few dozen
bytes for each object.
"""

import mmap
import struct
import zlib
from collections.abc import Callable, Iterator
from hashlib import sha1
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from dulwich.pack import OFS_DELTA, REF_DELTA

from content.cache import LruCache
from gitstore.git import deltas
from gitstore.git.new_pack import BLOB, COMMIT, TAG, TREE, DamagedObject, hash_object
from gitstore.git.pack_index import IndexEntry, PackIndex

_HEADER = struct.Struct(">4sII")
_CHECKSUM = 20
_MAX_SHIFT = 53  # of a size that is written 7 bits at a time
_CACHED_BYTES = 16 << 20
_CHUNK = 1 << 20
_WHOLE = frozenset({COMMIT, TREE, BLOB, TAG})
_HEADER_BYTES = 32  # more than the longest header of an entry
_NEAR = 256  # bytes of an entry that are read with its head
_MOST_NEAR = 1 << 16  # bytes of the buffer for their content, whatever the entry claims

Content = tuple[int, bytes]
"""The kind and the bytes of an object."""
Locate = Callable[[bytes], int | None]
"""Returns the offset of an object in a pack by its id; None if the pack does not have it."""


class PackEntry(NamedTuple):
    """The head of an entry: its kind, the place of its base (an offset, or an id; None for a whole object), and its data."""

    kind: int
    base: int | bytes | None
    size: int
    start: int


class PackEntries:
    """The entries of a pack, by offset. Raises DamagedObject for bytes that are no pack, or no entry."""

    def __init__(self, path: Path, start: int = 0, cached_bytes: int = _CACHED_BYTES) -> None:
        """Map a pack; `start` is where it begins in the file, and so many bytes of contents are kept in memory."""
        self.path = path
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as ex:  # an empty file cannot be mapped
            raise DamagedObject(path.name) from ex
        self._start = start
        self.end = len(self._data) - _CHECKSUM - start
        if self.end < _HEADER.size or self._data[start : start + 4] != b"PACK":
            self._data.close()
            raise DamagedObject(path.name)
        _, version, self.count = _HEADER.unpack_from(self._data, start)
        if version not in {2, 3}:
            self._data.close()
            raise DamagedObject(path.name)
        self._cache: LruCache[int, Content] = LruCache(cached_bytes, weigh=lambda content: len(content[1]) + 100)

    def close(self) -> None:
        """Unmap the file."""
        self._cache.clear()
        self._data.close()

    @property
    def checksum(self) -> bytes:
        """The checksum at the end of the pack."""
        return self._data[-_CHECKSUM:]

    def check(self) -> None:
        """Raise DamagedObject unless the checksum of the whole pack holds."""
        digest, end = sha1(usedforsecurity=False), len(self._data) - _CHECKSUM
        for at in range(self._start, end, _CHUNK):
            digest.update(self._data[at : min(at + _CHUNK, end)])
        if digest.digest() != self._data[end:]:
            raise DamagedObject(self.path.name)

    def view(self) -> memoryview:
        """Return the whole pack, with its head and checksum; the view is to be released before the pack is closed."""
        return memoryview(self._data)[self._start :]

    def raw(self, offset: int, end: int) -> bytes:
        """Return the bytes between two offsets."""
        return self._data[self._start + offset : self._start + end]

    def entry(self, offset: int) -> PackEntry:
        """Read the head of the entry at an offset."""
        data = self.raw(offset, min(offset + _HEADER_BYTES, self.end))
        try:
            return parse_entry(data, offset)
        except IndexError as ex:
            raise self._damage(offset) from ex

    def inflate(self, offset: int, entry: PackEntry) -> tuple[bytes, int]:
        """Return the data of an entry, and the offset of the entry's end."""
        stream, at, parts, size = zlib.decompressobj(), entry.start, list[bytes](), 0
        try:
            while not stream.eof and at < self.end:
                chunk = self.raw(at, min(at + min(max(entry.size // 2, 4096), _CHUNK), self.end))
                at += len(chunk)
                parts.append(stream.decompress(chunk, entry.size + 1 - size))
                size += len(parts[-1])
                at -= len(stream.unconsumed_tail)
                if size > entry.size:
                    break
        except zlib.error as ex:
            raise self._damage(offset) from ex
        if not stream.eof or size != entry.size:
            raise self._damage(offset)
        return b"".join(parts), at - len(stream.unused_data)

    def _read(self, offset: int) -> tuple[PackEntry, bytes]:
        """Read an entry: most are so small that one look at the file has all of it."""
        near = self._data[self._start + offset : self._start + offset + _NEAR]
        try:
            entry = parse_entry(near, offset)
            data = zlib.decompress(near[entry.start - offset :], bufsize=min(entry.size, _MOST_NEAR) + 1)
            if len(data) == entry.size:
                return entry, data
        except (IndexError, zlib.error):  # it is larger, or damaged
            pass
        entry = self.entry(offset)
        return entry, self.inflate(offset, entry)[0]

    def read_whole(self, offset: int) -> Content | None:
        """Return the kind and the content of the object at an offset, without keeping it; None for a delta, or a damaged one."""
        try:
            entry, data = self._read(offset)
        except DamagedObject:
            return None
        return (entry.kind, data) if entry.base is None else None

    def read_at(self, offset: int, locate: Locate | None = None) -> Content:
        """Return the kind and the content of the object at an offset; `locate` finds bases that are named by their ids."""
        deltas: list[tuple[int, bytes]] = []
        while True:
            found = self._cache.find(offset)
            if found is None:
                entry, data = self._read(offset)
                if entry.base is None:
                    found = self._cache.put(offset, (entry.kind, data))
            if found is not None:
                break
            deltas.append((offset, data))
            base = self.base_offset(entry, locate)
            if base is None or len(deltas) > self.count:
                raise self._damage(offset)
            offset = base
        for at, delta in reversed(deltas):
            found = self._cache.put(at, (found[0], self._apply(at, found[1], delta)))
        return found

    def _apply(self, offset: int, base: bytes, delta: bytes) -> bytes:
        try:
            return deltas.apply(base, delta)
        except deltas.InvalidDelta as ex:
            raise self._damage(offset) from ex

    def base_offset(self, entry: PackEntry, locate: Locate | None = None) -> int | None:
        """Return the offset of a delta's base; None if it is not in this pack."""
        if isinstance(entry.base, bytes):
            return locate(entry.base) if locate else None
        return entry.base if entry.base and entry.base >= _HEADER.size else None

    def _damage(self, offset: int) -> DamagedObject:
        return DamagedObject(f"the entry at byte {offset} of {self.path.name}")


def parse_entry(data: bytes, offset: int) -> PackEntry:
    """Read the head of an entry from its bytes, which begin at an offset in the pack. Raises IndexError for one that cannot be read."""
    byte = data[0]
    at, shift, kind, size = 1, 4, byte >> 4 & 7, byte & 15
    while byte & 0x80:
        if shift > _MAX_SHIFT:
            raise IndexError
        byte = data[at]
        size |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
    if kind == REF_DELTA:
        if len(data) < at + _CHECKSUM:
            raise IndexError
        return PackEntry(kind, data[at : at + _CHECKSUM], size, offset + at + _CHECKSUM)
    if kind == OFS_DELTA:
        byte = data[at]
        distance, at = byte & 0x7F, at + 1
        while byte & 0x80:
            byte = data[at]
            distance, at = (distance + 1) << 7 | byte & 0x7F, at + 1
        return PackEntry(kind, offset - distance, size, offset + at)
    if kind not in _WHOLE:
        raise IndexError
    return PackEntry(kind, None, size, offset + at)


class StoredPack:
    """A pack with its index: entries in the order of the file, and objects by id."""

    def __init__(self, base: Path, cached_bytes: int = _CACHED_BYTES) -> None:
        """Open a pack by its path without a suffix. Raises DamagedObject, or FileNotFoundError."""
        self.name = base.name
        self.index = PackIndex(base.with_suffix(".idx"))
        try:
            self.entries = PackEntries(base.with_suffix(".pack"), cached_bytes=cached_bytes)
        except BaseException:
            self.index.close()
            raise

    def close(self) -> None:
        """Unmap both files."""
        self.index.close()
        self.entries.close()

    def in_order(self) -> Iterator[tuple[int, int, int]]:
        """Yield the place, the offset and the end of each entry, in the order of the file."""
        offsets = self.index.offsets()
        places = sorted(range(self.index.count), key=offsets.__getitem__)
        ends = chain((offsets[place] for place in places[1:]), [self.entries.end])
        for place, end in zip(places, ends, strict=True):
            yield place, offsets[place], end

    def read(self, place: int) -> Content:
        """Return the kind and the content of the object at a place of the index, checked against its id."""
        content = self.entries.read_at(self.index.offset_at(place), self.index.locate)
        if hash_object(*content) != self.index.id_at(place):
            raise DamagedObject(f"object {self.index.id_at(place).hex()}")
        return content

    def checked_raw(self, place: int, offset: int, end: int) -> bytes:
        """Return the bytes of an entry, checked against the index."""
        raw = self.entries.raw(offset, end)
        if zlib.crc32(raw) != self.index.crc_at(place):
            raise DamagedObject(f"object {self.index.id_at(place).hex()}")
        return raw


def scan_pack(entries: PackEntries) -> list[IndexEntry]:
    """Read every object of a pack without its index; return the entries for a new one, in the order of their ids.

    Raises DamagedObject for a pack that is not complete by itself.
    """
    found = sorted(scan_readable(entries))
    if len(found) != entries.count:
        raise DamagedObject(entries.path.name)
    return found


def scan_readable(entries: PackEntries) -> Iterator[IndexEntry]:
    """Yield the objects of a pack that can be read from its beginning up to its first damaged entry, without its index."""
    offsets, waiting = dict[bytes, int](), list[tuple[int, int]]()
    for offset, crc in _scan(entries):
        try:
            found = IndexEntry(hash_object(*entries.read_at(offset)), offset, crc)
        except DamagedObject:  # its base is named by an id
            waiting.append((offset, crc))
        else:
            offsets[found.id] = offset
            yield found
    while waiting:
        left = list[tuple[int, int]]()
        for offset, crc in waiting:
            try:
                found = IndexEntry(hash_object(*entries.read_at(offset, offsets.get)), offset, crc)
            except DamagedObject:
                left.append((offset, crc))
            else:
                offsets[found.id] = offset
                yield found
        if len(left) == len(waiting):
            return
        waiting = left


def _scan(entries: PackEntries) -> Iterator[tuple[int, int]]:
    """Yield offset and CRC-32 of each entry, up to the first damaged one."""
    offset = _HEADER.size
    for _ in range(entries.count):
        try:
            _, end = entries.inflate(offset, entries.entry(offset))
        except DamagedObject:
            return
        yield offset, zlib.crc32(entries.raw(offset, end))
        offset = end
