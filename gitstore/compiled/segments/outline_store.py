"""The outlines of projects with many files of rules, in a few files that all processes map.

So a search, a look-up by id or an edit in such a project reads the segments of the few files that it shows or changes.
A file holds outlines one after another, then a directory of them. All are caches: what is missing or damaged is read
from the segments, and written again once it is more than a few.
"""

import mmap
import os
import struct
import time
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

import orjson

from gitstore.compiled.segments.file_finder import IdIndex, dump_index
from gitstore.compiled.segments.outline import Outline, dump_outline, outlined_segment
from gitstore.compiled.segments.sections import Damaged
from gitstore.compiled.segments.segment import SEGMENT_FORMAT, Segment
from gitstore.directory import make_folder
from gitstore.errors import StoreError
from gitstore.file_lock import hold_lock_file
from gitstore.git.atomic_io import open_replacement
from gitstore.layout import BlobId

# Part of every name: raise the last number when the content of an outline changes.
_SUFFIX = f".{SEGMENT_FORMAT}-2"
_MAGIC = b"OUTLINES"
_TAIL = struct.Struct("<QI8s")  # the length of the directory, its CRC-32, magic
_FEWEST = 64  # files of rules of a project that has outlines, and of those that are written together
_MOST_READ = 4  # files of outlines for one state, before they become one
_MOST_KEPT = 8  # files of outlines for one project
_MOST_MAPPED = 64  # files of outlines in one process
_TOUCH_AFTER = 86_400  # seconds
_WAIT_SECONDS = 20.0

_Load = Callable[[BlobId], Segment]


class _At(NamedTuple):
    start: int
    end: int
    crc: int


class _Pack:
    """One file of outlines, mapped; each outline is checked at its first use."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            self._block = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        length, crc, magic = _TAIL.unpack(self._block[-_TAIL.size :])
        directory = self._block[-_TAIL.size - length : -_TAIL.size]
        if magic != _MAGIC or zlib.crc32(directory) != crc:
            raise Damaged("the checksum does not match")
        places, ids = orjson.loads(directory)
        self.places = {BlobId(blob): _At(*place) for blob, *place in places}
        self._index = IdIndex(self._read_table(_At(*ids)), list(self.places))
        self._known: dict[BlobId, Outline] = {}
        self.checked = 0  # outlines that were read whole

    def _read_table(self, place: _At) -> memoryview:
        """Return the table of all ids; raises Damaged, so that none is missed."""
        if self._crc(place) != place.crc:
            raise Damaged("the checksum does not match")
        return memoryview(self._block)[place.start : place.end].cast("Q")

    def find(self, blob: BlobId) -> Outline | None:
        """Return the outline of a blob; None where it is missing or damaged."""
        found = self._known.get(blob)
        place = self.places.get(blob)
        if found is None and place and self._crc(place) == place.crc:
            self.checked += 1
            found = self._known[blob] = Outline(self._block, place.start, self._index)
        return found

    def data(self, blob: BlobId) -> bytes:
        """Return the bytes of an outline."""
        place = self.places[blob]
        return self._block[place.start : place.end]

    def release_pages(self) -> None:
        """Let this process forget the pages that it has read: they stay in the system's cache, and count there only."""
        if self.places:
            self._block.madvise(mmap.MADV_DONTNEED)

    def _crc(self, place: _At) -> int:
        return zlib.crc32(self._block[place.start : place.end])


class OutlineStore:
    """The outlines of the projects of one namespace, in a folder each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._packs: dict[Path, _Pack] = {}

    def segments(
        self, project: str, blobs: Sequence[BlobId], load: _Load, load_later: _Load
    ) -> Mapping[BlobId, Segment]:
        """Return segments for files of a project as far as there are outlines; none for a few files.

        `load` returns the segment of a blob now, `load_later` at any time. Where many outlines are missing, they are
        written first.
        """
        if len(blobs) < _FEWEST:
            return {}
        try:
            found = self._read(project, blobs)
            if len(blobs) - len(found) >= _FEWEST:
                with suppress(StoreError, OSError):  # a cache: a full or read-only disk must not stop a read
                    self._write(project, blobs, load)
                    found = self._read(project, blobs)
        except OSError:
            return {}
        return {blob: outlined_segment(outline, partial(load_later, blob)) for blob, outline in found.items()}

    def _read(self, project: str, blobs: Iterable[BlobId]) -> dict[BlobId, Outline]:
        packs = self._open(project)
        checked = sum(pack.checked for pack in packs)
        found = {blob: outline for blob in blobs if (outline := _find(packs, blob)) is not None}
        if sum(pack.checked for pack in packs) - checked >= _FEWEST:
            for pack in packs:
                pack.release_pages()
        return found

    def _open(self, project: str) -> list[_Pack]:
        """Return the files of a project, the newest first, as they are now."""
        folder = self._folder / project
        try:
            names = sorted((name for name in os.listdir(folder) if name.endswith(_SUFFIX)), reverse=True)  # noqa: PTH208 - at each read
        except FileNotFoundError:
            names = []
        paths = [folder / name for name in names]
        known = list(self._packs)  # other threads may add some
        for path in [path for path in known if path.parent == folder and path not in paths]:
            self._packs.pop(path, None)
        return [pack for path in paths if (pack := self._pack(path))]

    def _pack(self, path: Path) -> _Pack | None:
        """Return a file, mapped; None for a missing or damaged one. A file in use stays young, so that the clean-up leaves it."""
        found = self._packs.pop(path, None)
        with suppress(OSError, ValueError, struct.error, TypeError):
            found = found or _Pack(path)
            if time.time() - path.stat().st_mtime > _TOUCH_AFTER:
                path.touch()
        if found:
            self._packs[path] = found  # at the end: the first has been unused for longest
        for each in list(self._packs)[:-_MOST_MAPPED]:
            self._packs.pop(each, None)
        return found

    def _write(self, project: str, blobs: Sequence[BlobId], load: _Load) -> None:
        """Write the missing outlines, or all of this state in one file where they are in many."""
        folder = self._folder / project
        make_folder(folder, levels=3)
        with hold_lock_file(self._folder / f"{project}.lock", _WAIT_SECONDS) as has_lock:
            packs = self._open(project)
            missing = [blob for blob in dict.fromkeys(blobs) if _find(packs, blob) is None]
            if not has_lock or len(missing) < _FEWEST:  # another process wrote them
                return
            used = [pack for pack in packs if not pack.places.keys().isdisjoint(blobs)]
            whole = len(used) >= _MOST_READ
            number = max((int(pack.path.name.partition(".")[0], 16) for pack in packs), default=0) + 1
            wanted = list(dict.fromkeys(blobs)) if whole else missing
            with open_replacement(folder / f"{number:08x}{_SUFFIX}") as file:
                _dump(file, ((blob, _data(packs, blob, load)) for blob in wanted))
            for pack in [*(used if whole else ()), *packs[_MOST_KEPT - 1 :]]:
                pack.path.unlink(missing_ok=True)


def _find(packs: Iterable[_Pack], blob: BlobId) -> Outline | None:
    return next((found for pack in packs if (found := pack.find(blob))), None)


def _data(packs: Iterable[_Pack], blob: BlobId, load: _Load) -> bytes:
    known = next((pack for pack in packs if pack.find(blob)), None)
    return known.data(blob) if known else dump_outline(load(blob))


def _dump(file: IO[bytes], outlines: Iterator[tuple[BlobId, bytes]]) -> None:
    """Write outlines as they come, so that none is held in memory, then an index of all ids, then their directory."""
    places: list[tuple[str, int, int, int]] = []
    ids: list[Sequence[int]] = []
    at = 0
    for blob, data in outlines:
        file.write(data)
        ids.append(array("Q", Outline(data).id_bytes))
        places.append((blob, at, at + len(data), zlib.crc32(data)))
        at += len(data)
    table = dump_index(ids)
    file.write(table)
    directory = orjson.dumps([places, (at, at + len(table), zlib.crc32(table))])
    file.write(directory + _TAIL.pack(len(directory), zlib.crc32(directory), _MAGIC))
