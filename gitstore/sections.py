"""The container of compiled files: named sections of bytes behind a checksum, readable in place.

Layout: magic, CRC-32 of all that follows, length of the directory, directory (JSON: name -> [offset, length]), then
the sections, each on an 8-byte boundary, so that a memory map can be read as arrays without a copy.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence

import orjson

_MAGIC = b"WAYPOST1"
_HEAD = struct.Struct("<8sI")
_LENGTH = struct.Struct("<I")
_START = _HEAD.size + _LENGTH.size
_ALIGN = 8


class Damaged(ValueError):
    """The file is not what was written: another format, cut short, or changed on disk."""


def dump_sections(sections: Mapping[str, Sequence[bytes]]) -> bytes:
    """One file of the sections; each is given in chunks, so that nothing is copied twice."""
    directory: dict[str, tuple[int, int]] = {}
    body: list[bytes] = []
    end = 0
    for name, chunks in sections.items():
        length = sum(map(len, chunks))
        directory[name] = (end, length)
        body += [*chunks, bytes(-length % _ALIGN)]
        end += length + -length % _ALIGN
    index = _padded(orjson.dumps(directory))
    checked = [_LENGTH.pack(len(index)), index, *body]
    crc = 0
    for chunk in checked:
        crc = zlib.crc32(chunk, crc)
    return b"".join([_HEAD.pack(_MAGIC, crc), *checked])


def load_sections(buffer: memoryview, *, trusted: bool = False) -> dict[str, memoryview]:
    """The sections, as views into the buffer; Damaged where the checksum, unless trusted, does not hold."""
    if len(buffer) < _START:
        raise Damaged("cut short")
    magic, crc = _HEAD.unpack(buffer[: _HEAD.size])
    if magic != _MAGIC:
        raise Damaged("another format")
    if not trusted and zlib.crc32(buffer[_HEAD.size :]) != crc:
        raise Damaged("the checksum does not hold")
    start = _START + _LENGTH.unpack(buffer[_HEAD.size : _START])[0]
    directory = orjson.loads(buffer[_START:start])
    return {name: buffer[start + at : start + at + size] for name, (at, size) in directory.items()}


def _padded(data: bytes) -> bytes:
    return data + b" " * (-(_START + len(data)) % _ALIGN)
