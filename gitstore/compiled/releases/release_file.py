"""The files of releases: a whole one, or the changes of a release since a whole one, which is its base.

Both are immutable, have the same sections, and are mapped into memory. A file is named by the project's tree and contains
no project name, so equal content is compiled once for all commits and projects. One with changes names its base.
"""

import mmap
import os
import resource
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakSet, WeakValueDictionary

import orjson

from content.cache import LruCache
from content.records.vocabulary import Kind
from gitstore.compiled.releases.layer import Layer
from gitstore.compiled.segments.sections import Damaged, begins_with, load_section, load_sections, read_checksum
from gitstore.layout import TreeId

# Part of every file name: raise it when the file's content or its meaning changes.
FORMAT = "5"
_WHOLE_FORMAT = "4"  # of earlier programs: whole releases only
BASE = "base"  # the first section of a file with changes: name and checksum of the base
PIECES = "pieces"  # in a file with changes, the pieces of a list: first ordinal, count, and shift of the lines
_SMALL_BYTES = 16_384  # a few pages; as many bytes as some objects of a release take anyway
_LARGE_BYTES = 16 << 20
_SHARE_OF_FILES = 4
_HEAD_BYTES = 64
_KEPT_BASES = 2  # besides those of the releases in use: for the next publish of the same project

_limits = {"maps": 2_000}
_maps: WeakSet[mmap.mmap] = WeakSet()  # those of this process that are in use

_Identity = tuple[Path, int, int, int]


class ListedFile(NamedTuple):
    """A file of rules in a release: its path in the project, its number of records, and the SHA-256 of their items."""

    path: str
    records: int
    sha256: str | None


class ReleaseFile:
    """One file: a layer of records for each list, and what the release needs besides.

    `base` is the name and checksum of the base; None for a whole release. Nothing is read until it is asked for, so a
    process serves many projects of which few are in use.
    """

    def __init__(self, buffer: memoryview, name: str = "", *, trusted: bool = False) -> None:
        """Check a file. Raises `sections.Damaged` if the bytes are not those that were written.

        Bytes that this process has just built are trusted: their checksum is not computed again.
        """
        sections = load_sections(buffer, trusted=trusted)
        self.name = name
        self.base = _load_base(sections[BASE]) if BASE in sections else None
        self.checksum = read_checksum(buffer)
        self.size = len(buffer)
        self._buffer = buffer
        if self.size > _SMALL_BYTES:
            self.__dict__["sections"] = sections  # fills the cached property, which would read the directory again

    @cached_property
    def sections(self) -> Mapping[str, memoryview]:
        """The sections by name."""
        return load_sections(self._buffer, trusted=True)

    @cached_property
    def meta(self) -> dict[str, Any]:
        """The files, settings and hosts, and the facts that are stored about each list."""
        found: dict[str, Any] = orjson.loads(self.sections["meta"])
        return found

    @cached_property
    def layers(self) -> Mapping[Kind, Layer]:
        """The records of each list."""
        return {kind: Layer(kind, self.meta[kind.value], self.sections) for kind in Kind}

    @cached_property
    def listed(self) -> Mapping[Kind, list[ListedFile]]:
        """The files of rules of each list of a whole release."""
        return {kind: list_files(kind, self.meta, None) for kind in Kind}

    @cached_property
    def patterns(self) -> list[tuple[int, str, str]]:
        """Ordinal, type and source of the regex redirects."""
        return [(ordinal, type_, source) for ordinal, type_, source in orjson.loads(self.sections["patterns"])]


_shared: WeakValueDictionary[_Identity, ReleaseFile] = WeakValueDictionary()
_recent: LruCache[_Identity, ReleaseFile] = LruCache(_KEPT_BASES)
_sharing = threading.Lock()


def release_path(folder: Path, tree: TreeId) -> Path:
    """Return the path of the release of a tree."""
    return folder / f"{tree}.{FORMAT}"


def release_names(tree: TreeId) -> tuple[str, ...]:
    """Return the names that the release of a tree may have: that of this program, and that of earlier ones."""
    return f"{tree}.{FORMAT}", f"{tree}.{_WHOLE_FORMAT}"


def open_release_file(path: Path) -> ReleaseFile:
    """Map the release at a path, or else that of an earlier program.

    Raises FileNotFoundError, Damaged or ValueError if it has to be compiled again.
    """
    try:
        return _open_shared(path)
    except FileNotFoundError:
        return _open_shared(path.with_suffix(f".{_WHOLE_FORMAT}"))


def open_base(folder: Path, base: tuple[str, int]) -> ReleaseFile:
    """Map the base of a release. Raises FileNotFoundError, Damaged or ValueError if it was removed."""
    name, checksum = base
    found = _open_shared(folder / name)
    if found.checksum != checksum or found.base is not None:
        raise Damaged("another base")
    return found


def _open_shared(path: Path) -> ReleaseFile:
    """Map a file; a whole release that this process has mapped is not mapped, or checked, again."""
    status = path.stat()
    identity = (path, status.st_ino, status.st_mtime_ns, status.st_size)
    with _sharing:
        found = _shared.get(identity)
    if found is None:
        mapped = map_release(path)
        found = ReleaseFile(mapped, path.name)
        _forget_pages(mapped)
        if found.base is None and found.size > _SMALL_BYTES:
            with _sharing:
                _shared[identity] = found
    if found.base is None and found.size > _SMALL_BYTES:
        _recent.put(identity, found)
    return found


def map_release(path: Path) -> memoryview:
    """Map the bytes of a compiled release, unchecked. Raises ValueError for an empty file.

    Each map holds an open file. A small release, and any release beyond `max_maps`, is read into memory instead, so that
    a process serves any number of projects.
    """
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size <= _SMALL_BYTES or len(_maps) >= max_maps():
            return memoryview(_require_bytes(file.read()))
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        _maps.add(mapped)
        return memoryview(mapped)


def _forget_pages(mapped: memoryview) -> None:
    """Let this process forget the pages of a large map that was read for its checksums; they stay in the system's cache.

    Else each worker that opens a release of a million rules has all of it in its memory, most of it for nothing.
    """
    if len(mapped) >= _LARGE_BYTES and isinstance(mapped.obj, mmap.mmap):
        mapped.obj.madvise(mmap.MADV_DONTNEED)


def limit_maps(most: int) -> None:
    """Set how many files of releases this process maps at most."""
    _limits["maps"] = most


def max_maps() -> int:
    """Return how many files of releases this process maps at most, never above a quarter of those that it may have open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _limits["maps"] if files == resource.RLIM_INFINITY else min(files // _SHARE_OF_FILES, _limits["maps"])


def _require_bytes(data: bytes) -> bytes:
    if not data:
        raise ValueError("The file of a compiled release is empty.")
    return data


def read_base_name(path: Path) -> str | None:
    """Return the name of the base of a release; None for a whole one, and for an unreadable one."""
    try:
        with path.open("rb") as file:
            if not begins_with(file.read(_HEAD_BYTES), BASE):
                return None
            file.seek(0)
            return _load_base(load_section(memoryview(file.read()), BASE))[0]
    except (OSError, ValueError):
        return None


def _load_base(section: memoryview) -> tuple[str, int]:
    name, checksum = orjson.loads(section)
    return name, checksum


def list_files(kind: Kind, meta: Mapping[str, Any], base: Sequence[ListedFile] | None) -> list[ListedFile]:
    """Return the files of rules of a release in order, from what is in its file and (None for a whole one) its base's."""
    own = meta[kind.value]
    if base is None:
        sums = own.get("runs") or [None] * len(own["files"])  # releases of earlier programs do not have it
        return [ListedFile(path, count, sum_) for (path, count, _), sum_ in zip(own["files"], sums, strict=True)]
    found: list[ListedFile] = []
    for first, *rest in own["listed"]:
        found += base[first : first + rest[0]] if isinstance(first, int) else [ListedFile(first, *rest)]
    return found


def read_file_counts(path: Path) -> dict[Kind, dict[str, int]]:
    """Return the number of records of each file of a compiled release, by path in the project; reads no list.

    Raises like `open_release_file`.
    """
    try:
        buffer = map_release(path)
    except FileNotFoundError:
        buffer = map_release(path.with_suffix(f".{_WHOLE_FORMAT}"))
    meta = orjson.loads(load_section(buffer, "meta"))
    name = read_base_name(path)
    base = orjson.loads(load_section(map_release(path.parent / name), "meta")) if name else None
    earlier = {kind: list_files(kind, base, None) if base else None for kind in Kind}
    return {kind: {each.path: each.records for each in list_files(kind, meta, earlier[kind])} for kind in Kind}
