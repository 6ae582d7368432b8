"""The container of compiled files: named sections of bytes behind checksums, readable in place.

Layout: magic, CRC-32 of the length of the directory and the directory, that length, the directory (JSON: name ->
[length, [[bytes, CRC-32] of each run]]), then the sections, each filled up to an 8-byte boundary, so that a memory map
can be read as arrays without a copy. Runs have checksums of their own so that one who takes a run over from another
file need not read it.
"""

import struct
import zlib
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
    """The file is not what was written: another format, cut short, or changed on disk."""


class Run(NamedTuple):
    """Bytes of a section, and their CRC-32."""

    data: bytes | memoryview
    crc: int


Runs = Sequence[Run | bytes | memoryview]
_Directory = dict[str, tuple[int, list[tuple[int, int]]]]


def run_of(data: bytes | memoryview) -> Run:
    """A run whose checksum is computed here."""
    return Run(data, zlib.crc32(data))


def dump_sections(sections: Mapping[str, Runs]) -> bytes:
    """One file of the sections; each is given in runs, so that nothing is copied twice."""
    directory: _Directory = {}
    body: list[bytes | memoryview] = []
    for name, given in sections.items():
        runs = [run if isinstance(run, Run) else run_of(run) for run in given]
        length = sum(len(run.data) for run in runs)
        padded = [*runs, run_of(bytes(-length % _ALIGN))]
        directory[name] = length, [(len(run.data), run.crc) for run in padded if len(run.data)]
        body += [run.data for run in padded]
    index = _padded(orjson.dumps(directory))
    checked = _LENGTH.pack(len(index)) + index
    return b"".join([_HEAD.pack(_MAGIC, zlib.crc32(checked)), checked, *body])


def load_sections(buffer: memoryview, *, trusted: bool = False) -> dict[str, memoryview]:
    """The sections, as views into the buffer; Damaged where a checksum, unless trusted, does not hold."""
    directory, start = _read_directory(buffer)
    sizes = [sum(size for size, _ in runs) for _, runs in directory.values()]
    starts = list(accumulate(sizes, initial=start))
    if starts[-1] != len(buffer):
        raise Damaged("cut short")
    found = {}
    for at, (name, (length, runs)) in zip(starts, directory.items(), strict=False):
        if not trusted:
            _check(buffer, at, runs)
        found[name] = buffer[at : at + length]
    return found


def load_section(buffer: memoryview, name: str) -> memoryview:
    """One section, without a look at the others; Damaged where its checksum does not hold, or it is not there."""
    directory, at = _read_directory(buffer)
    for other, (length, runs) in directory.items():
        if other == name:
            _check(buffer, at, runs)
            return buffer[at : at + length]
        at += sum(size for size, _ in runs)
    raise Damaged(f"no section {name}")


def _read_directory(buffer: memoryview) -> tuple[_Directory, int]:
    """The directory, and where the first section begins."""
    if len(buffer) < _START:
        raise Damaged("cut short")
    magic, crc = _HEAD.unpack(buffer[: _HEAD.size])
    if magic != _MAGIC:
        raise Damaged("another format")
    start = _START + _LENGTH.unpack(buffer[_HEAD.size : _START])[0]
    if zlib.crc32(buffer[_HEAD.size : start]) != crc:
        raise Damaged("the checksum does not hold")
    directory: _Directory = orjson.loads(buffer[_START:start])
    return directory, start


def _check(buffer: memoryview, at: int, runs: Sequence[tuple[int, int]]) -> None:
    for size, crc in runs:
        if zlib.crc32(buffer[at : at + size]) != crc:
            raise Damaged("the checksum does not hold")
        at += size


def _padded(data: bytes) -> bytes:
    return data + b" " * (-(_START + len(data)) % _ALIGN)
