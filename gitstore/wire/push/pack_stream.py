"""The entries of a pushed pack, read in one pass: nothing that an entry claims is believed before it is seen.

See https://git-scm.com/docs/gitformat-pack.
"""

import hashlib
import struct
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from gitstore.errors import InvalidPush
from gitstore.git.packs.new_pack import TYPES
from gitstore.wire.push.push_limits import PushLimits

OFS_DELTA, REF_DELTA = 6, 7
HEADER = struct.Struct(">4sII")
CHECKSUM_BYTES = 20
_WHOLE = frozenset(TYPES.values())
_ID_BYTES = 20
_BUFFER = 1 << 16
_VERSIONS = (2, 3)
_MAX_SHIFT = 60  # of a length that is written 7 bits at a time
_MORE = 0x80


class EntryHead(NamedTuple):
    """The head of an entry: its type, the claimed size of what follows, and the base of a delta, by distance or id."""

    offset: int
    kind: int
    size: int
    distance: int = 0
    base: bytes = b""

    @property
    def is_delta(self) -> bool:
        """True for an object that is written as a difference from another one."""
        return self.kind not in _WHOLE


class PackStream:
    """A pack in the rest of a file; what is read of it is also written to `copy`, without the checksum at the end."""

    def __init__(self, file: BinaryIO, copy: BinaryIO, limits: PushLimits) -> None:
        self._file = file
        self._copy = copy
        self._limits = limits
        self._buffer = memoryview(b"")
        self._digest = hashlib.sha1(usedforsecurity=False)
        self.offset = 0  # of the next byte in the pack
        self.inflated = 0  # bytes of all objects so far
        self.crc = 0  # of the entry so far

    def read_header(self) -> int:
        """Read the head of the pack; return the number of objects that it announces."""
        magic, version, count = HEADER.unpack(self._read(HEADER.size))
        if magic != b"PACK" or version not in _VERSIONS:
            raise InvalidPush("what follows the list of refs is not a pack")
        if count > self._limits.objects:
            raise InvalidPush(
                f"the pack announces {count:,} objects, and a push may have at most {self._limits.objects:,}; "
                "push fewer commits at once"
            )
        return int(count)

    def read_head(self) -> EntryHead:
        """Read the head of the next entry."""
        self.crc, offset = 0, self.offset
        byte = self._read(1)[0]
        kind, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & _MORE:
            if shift > _MAX_SHIFT:
                raise InvalidPush("an object in the pack has an endless size")
            byte = self._read(1)[0]
            size |= (byte & 127) << shift
            shift += 7
        self._limits.require_size(size)
        if kind == OFS_DELTA:
            return EntryHead(offset, kind, size, distance=self._read_distance())
        if kind == REF_DELTA:
            return EntryHead(offset, kind, size, base=self._read(_ID_BYTES))
        if kind not in _WHOLE:
            raise InvalidPush(f"the pack has an object of the unknown type {kind}")
        return EntryHead(offset, kind, size)

    def _read_distance(self) -> int:
        byte = self._read(1)[0]
        distance = byte & 127
        while byte & _MORE:
            byte = self._read(1)[0]
            distance = (distance + 1) << 7 | (byte & 127)
            if distance >> _MAX_SHIFT:
                raise InvalidPush("a delta in the pack has no base")
        return distance

    def inflate(self, head: EntryHead) -> Iterator[bytes]:
        """Yield the content of an entry in pieces; together they have the size that its head claims."""
        stream, left = zlib.decompressobj(), head.size
        while not stream.eof:
            piece = self._peek(min(_BUFFER, left + (left >> 8) + 64))
            try:
                content = stream.decompress(piece, left + 1)
            except zlib.error as ex:
                raise InvalidPush(f"the pack is damaged: an object at byte {head.offset:,} cannot be read") from ex
            self._take(len(piece) - len(stream.unused_data) - len(stream.unconsumed_tail))
            left -= len(content)
            if left < 0:
                break
            yield content
        if left:
            raise InvalidPush(f"an object at byte {head.offset:,} of the pack does not have the size that it claims")

    def count(self, size: int) -> None:
        """Count the bytes of one more object."""
        self.inflated += size
        if self.inflated > self._limits.inflated_bytes:
            raise InvalidPush(
                f"the pushed objects have more than {self._limits.inflated_bytes:,} bytes together; push fewer commits at once"
            )

    def finish(self) -> bytes:
        """Read the checksum, which has to be the end of the file; return it."""
        computed = self._digest.digest()
        found = bytes(self._peek(CHECKSUM_BYTES))
        rest = self._buffer[CHECKSUM_BYTES:]
        if found != computed:
            raise InvalidPush("the pack is damaged: its checksum is not that of its bytes")
        if rest or self._file.read(1):
            raise InvalidPush("bytes follow the end of the pack")
        return computed

    def _read(self, count: int) -> bytes:
        found = bytes(self._peek(count))
        if len(found) < count:
            raise _truncated()
        self._take(count)
        return found

    def _peek(self, count: int) -> memoryview:
        """Return the next bytes without reading on: `count` of them, or what is left of the file, but not nothing."""
        while len(self._buffer) < count:
            more = self._file.read(_BUFFER)
            if not more:
                break
            self._buffer = memoryview(bytes(self._buffer) + more)
        if not self._buffer:
            raise _truncated()
        return self._buffer[:count]

    def _take(self, count: int) -> None:
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        self._digest.update(taken)
        self.crc = zlib.crc32(taken, self.crc)
        self._copy.write(taken)
        self.offset += count


def _truncated() -> InvalidPush:
    return InvalidPush("the pack ends early; push again")
