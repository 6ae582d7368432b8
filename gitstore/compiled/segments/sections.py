"""The container of compiled files: named sections of bytes with checksums, readable in place.

Layout: magic, CRC-32 of the length of the directory and the directory, that length, the directory (JSON: name ->
[length, [[bytes, CRC-32] of each chunk]]), then the sections, each padded to an 8-byte boundary, so that a memory map
can be read as arrays without a copy. Chunks have checksums of their own, so that a chunk can be copied from another
file without reading it.
"""

import struct
import zlib
from array import array
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import orjson

_MAGIC = b"WAYPOST2"
_HEAD = struct.Struct("<8sI")
_LENGTH = struct.Struct("<I")
_START = _HEAD.size + _LENGTH.size
_ALIGN = 8


class Damaged(ValueError):
    """The file is not as it was written: it is of another format, cut short, or changed on disk."""


class Chunk(NamedTuple):
    """Bytes of a section, and their CRC-32."""

    data: bytes | memoryview
    crc: int


Chunks = Sequence[Chunk | bytes | memoryview]
_Directory = dict[str, tuple[int, list[tuple[int, int]]]]


def checksum_chunk(data: bytes | memoryview) -> Chunk:
    """Return a chunk with its checksum."""
    return Chunk(data, zlib.crc32(data))


def raw_numbers(code: str, numbers: Sequence[int]) -> bytes | memoryview:
    """Return the bytes of an array; an array that was read from a file is not copied."""
    return numbers.cast("B") if isinstance(numbers, memoryview) else array(code, numbers).tobytes()


def dump_sections(sections: Mapping[str, Chunks]) -> bytes:
    """Return one file with the sections; each is given in chunks, so that no byte is copied twice."""
    return b"".join(list_parts(sections))


def list_parts(sections: Mapping[str, Chunks]) -> list[bytes | memoryview]:
    """Return the bytes of one file with the sections, in parts that are not copied."""
    directory: _Directory = {}
    body: list[bytes | memoryview] = []
    for name, given in sections.items():
        chunks = [chunk if isinstance(chunk, Chunk) else checksum_chunk(chunk) for chunk in given]
        length = sum(len(chunk.data) for chunk in chunks)
        padded = [*chunks, checksum_chunk(bytes(-length % _ALIGN))]
        directory[name] = length, [(len(chunk.data), chunk.crc) for chunk in padded if len(chunk.data)]
        body += [chunk.data for chunk in padded]
    index = _padded(orjson.dumps(directory))
    checked = _LENGTH.pack(len(index)) + index
    return [_HEAD.pack(_MAGIC, zlib.crc32(checked)), checked, *body]


def load_sections(buffer: memoryview, *, trusted: bool = False) -> dict[str, memoryview]:
    """Return the sections, as views of the buffer. Raises Damaged if a checksum does not match, unless trusted."""
    directory, start = _read_directory(buffer)
    sizes = [sum(size for size, _ in chunks) for _, chunks in directory.values()]
    starts = list(accumulate(sizes, initial=start))
    if starts[-1] != len(buffer):
        raise Damaged("cut short")
    found = {}
    for at, (name, (length, chunks)) in zip(starts, directory.items(), strict=False):
        if not trusted:
            _check(buffer, at, chunks)
        found[name] = buffer[at : at + length]
    return found


def load_section(buffer: memoryview, name: str) -> memoryview:
    """Return one section, without reading the others. Raises Damaged if it is missing or its checksum differs."""
    directory, at = _read_directory(buffer)
    for other, (length, chunks) in directory.items():
        if other == name:
            _check(buffer, at, chunks)
            return buffer[at : at + length]
        at += sum(size for size, _ in chunks)
    raise Damaged(f"no section {name}")


def read_checksum(buffer: memoryview) -> int:
    """Return the checksum of all sections: that of the directory, which has those of their chunks."""
    checksum: int = _HEAD.unpack(buffer[: _HEAD.size])[1]
    return checksum


def begins_with(head: bytes, name: str) -> bool:
    """Tell whether a section is the first one, from the first bytes of a file."""
    return head[_START:].startswith(b'{"%b":' % name.encode())


def _read_directory(buffer: memoryview) -> tuple[_Directory, int]:
    """Return the directory, and the offset of the first section."""
    if len(buffer) < _START:
        raise Damaged("cut short")
    magic, crc = _HEAD.unpack(buffer[: _HEAD.size])
    if magic != _MAGIC:
        raise Damaged("another format")
    start = _START + _LENGTH.unpack(buffer[_HEAD.size : _START])[0]
    if zlib.crc32(buffer[_HEAD.size : start]) != crc:
        raise Damaged("the checksum does not match")
    directory: _Directory = orjson.loads(buffer[_START:start])
    return directory, start


def _check(buffer: memoryview, at: int, chunks: Sequence[tuple[int, int]]) -> None:
    for size, crc in chunks:
        if zlib.crc32(buffer[at : at + size]) != crc:
            raise Damaged("the checksum does not match")
        at += size


def _padded(data: bytes) -> bytes:
    return data + b" " * (-(_START + len(data)) % _ALIGN)
