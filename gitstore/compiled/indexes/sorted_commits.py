"""The commits of a project's versions in order, so that a SHA is found by a few small reads among any number of them.

It is a cache beside the index of versions: entries of fixed size, each with the commit, its place in the index, and a
checksum. The newest versions are not in it; the index itself is read for them.
"""

import os
import struct
from bisect import bisect_left
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from zlib import crc32

from gitstore.git.atomic_io import replace_file

MOST_UNSORTED = 1_024  # versions; behind more, the file is written again
_FIELDS = struct.Struct("<20sI")
_CRC = struct.Struct("<I")
_SIZE = _FIELDS.size + _CRC.size
_SHA_LENGTH = 40


class DamagedTable(Exception):
    """An entry is damaged or missing."""


class SortedCommits:
    """The commits in order, 20 bytes each; only those that are asked for are read, from a file or from bytes."""

    def __init__(self, data: bytes = b"", file: FileIO | None = None) -> None:
        self._data = data
        self._file = file
        self._size = os.fstat(file.fileno()).st_size if file else len(data)

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file:
            self._file.close()

    def write(self, index: Path) -> None:
        """Write the commits beside an index of versions."""
        replace_file(_path(index), self._data, sync=False)

    def __len__(self) -> int:
        return self._size // _SIZE

    def __getitem__(self, at: int) -> bytes:
        return self._entry(at)[0]

    def places(self, prefix: str) -> list[int]:
        """Return the places of the commits that begin with these hex digits."""
        at, found = bisect_left(self, bytes.fromhex(prefix.ljust(_SHA_LENGTH, "0"))), list[int]()
        while at < len(self):
            commit, place = self._entry(at)
            if not commit.hex().startswith(prefix):
                break
            found.append(place)
            at += 1
        return found

    def _entry(self, at: int) -> tuple[bytes, int]:
        start = at * _SIZE
        entry = os.pread(self._file.fileno(), _SIZE, start) if self._file else self._data[start : start + _SIZE]
        if len(entry) != _SIZE or entry[_FIELDS.size :] != _CRC.pack(crc32(entry[: _FIELDS.size])):
            raise DamagedTable
        commit, place = _FIELDS.unpack_from(entry)
        return commit, place


def sort_commits(commits: Sequence[bytes]) -> SortedCommits:
    """Return the commits of all versions, given oldest first."""
    places = range(1, len(commits) + 1)
    entries = (_FIELDS.pack(commit, place) for commit, place in sorted(zip(commits, places, strict=True)))
    return SortedCommits(b"".join(entry + _CRC.pack(crc32(entry)) for entry in entries))


def open_sorted_commits(index: Path) -> SortedCommits:
    """Open the file beside an index of versions; without a file, no commits."""
    try:
        return SortedCommits(file=FileIO(_path(index)))
    except OSError:
        return SortedCommits()


def _path(index: Path) -> Path:
    return index.with_name(f"{index.name}.sorted")  # no project's name has a dot
