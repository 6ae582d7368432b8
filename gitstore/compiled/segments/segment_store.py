"""The compiled segments by blob: in memory for recent files, on disk for every process of the machine.

Published segments are also archived, compressed, as long as the history can go back to them: a fifth of the size, and
read in a fifteenth of the time that the YAML takes.
"""

import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from os.path import exists
from pathlib import Path

from content.cache import LruCache
from gitstore.compiled.segments.outline_store import OutlineStore
from gitstore.compiled.segments.sections import Damaged
from gitstore.compiled.segments.segment import (
    SEGMENT_FORMAT,
    Segment,
    compile_segment,
    dump_segment,
    load_segment,
    segment_of,
)
from gitstore.directory import make_folder
from gitstore.errors import OutOfSpace
from gitstore.git.atomic_io import replace_file
from gitstore.layout import BlobId
from gitstore.yamlfiles.rule_file import RuleFile

SEGMENT_SUFFIX = f".{SEGMENT_FORMAT}"
_CACHED_RULES = 150_000  # rules in memory, some 400 bytes each
_RULES_PER_SEGMENT = 50  # that take as much memory as a segment without any
_TOUCH_AFTER = 86_400
_COMPRESSION_LEVEL = 1
_ARCHIVED_SECONDS = 600.0


class SegmentStore:
    """The segments of one namespace: a cache, so a missing or damaged file only costs reading the YAML again.

    `folder` has recently used segments, `archive` the published ones; with None, nothing is written. `read_blob` reads a
    file that is not compiled at any time, also after the operation whose snapshot has it.
    """

    def __init__(
        self,
        folder: Path | None,
        archive: Path | None = None,
        outlines: Path | None = None,
        read_blob: Callable[[BlobId], bytes] | None = None,
    ) -> None:
        self.read_blob = read_blob
        self._folder = folder
        self._archive = archive
        self._outlines = OutlineStore(outlines) if outlines else None
        self._cache: LruCache[BlobId, Segment] = LruCache(_CACHED_RULES, _weigh)
        self._archived = set[BlobId]()  # those that this process has seen, for a while: the clean-up may remove some
        self._archived_since = 0.0

    def reading_from(self, read_blob: Callable[[BlobId], bytes]) -> "SegmentStore":
        """Return the same segments, in the same memory, of files that are read elsewhere where they are not compiled."""
        other = copy(self)
        other.read_blob = read_blob
        return other

    def find_outlined(
        self, project: str, blobs: Sequence[BlobId], load: Callable[[BlobId], Segment]
    ) -> Mapping[BlobId, Segment]:
        """Return segments that are read when they are needed, for the files of a project with many; `load` reads one."""
        later = self._load_later if self.read_blob else load
        return self._outlines.segments(project, blobs, load, later) if self._outlines else {}

    def _load_later(self, blob: BlobId) -> Segment:
        found = self.find_cached(blob)
        if found is None and self.read_blob:  # not `or`: a segment without rules is false
            found = self.get(blob, self.read_blob(blob))
        if found is None:
            raise ValueError("nothing reads blobs")
        return found

    def get(self, blob: BlobId, data: bytes) -> Segment:
        """Return the segment of a blob with these bytes, compiled if necessary."""
        found = self.find_cached(blob)
        return self._remember(blob, self._compile(blob, data)) if found is None else found

    def add(self, blob: BlobId, rules: RuleFile, before: BlobId | None = None) -> None:
        """Cache the segment of a blob that is parsed already; `before` is the blob that an edit replaced."""
        if self._cache.find(blob) is None:
            edited = self._cache.find(before) if before else None
            self._remember(blob, self._write(blob, segment_of(rules, edited)))

    def store(self, blob: BlobId, rules: RuleFile) -> None:
        """Write the segment of a blob that is parsed already, and do not keep it in memory."""
        self._write(blob, segment_of(rules))

    def find_cached(self, blob: BlobId) -> Segment | None:
        """Return the segment of a blob, or None if it is not cached."""
        found = self._cache.find(blob)
        if found is not None:  # not `or`: a segment without rules is false
            return found
        loaded = self._load(blob)
        if loaded is None:  # not `or`: a segment without rules is falsy
            loaded = self._load_archived(blob)
        return None if loaded is None else self._remember(blob, loaded)

    def archive_all(self, segments: Iterable[tuple[BlobId, Segment]]) -> None:
        """Archive published segments that are not archived yet; half a millisecond for 500 rules."""
        if self._archive is None:
            return
        now = time.monotonic()
        if now - self._archived_since > _ARCHIVED_SECONDS:
            self._archived, self._archived_since = set(), now
        for blob, segment in [each for each in segments if each[0] not in self._archived]:
            if not self.is_archived(blob):
                _store(_path(self._archive, blob), zlib.compress(dump_segment(segment.whole), _COMPRESSION_LEVEL))
            self._archived.add(blob)

    def is_archived(self, blob: BlobId) -> bool:
        """Tell whether a segment is archived."""
        path = f"{self._archive}/{blob[:2]}/{blob[2:]}{SEGMENT_SUFFIX}"
        return exists(path)  # noqa: PTH110 - once per file of a project, and pathlib takes ten times as long

    def _remember(self, blob: BlobId, segment: Segment) -> Segment:
        return self._cache.put(blob, segment)

    def _compile(self, blob: BlobId, data: bytes) -> Segment:
        return self._write(blob, compile_segment(data))

    def _write(self, blob: BlobId, segment: Segment) -> Segment:
        if self._folder:
            _store(_path(self._folder, blob), dump_segment(segment))
        return segment

    def _load(self, blob: BlobId) -> Segment | None:
        if self._folder is None:
            return None
        path = _path(self._folder, blob)
        try:
            segment = load_segment(path.read_bytes())
            if time.time() - path.stat().st_mtime > _TOUCH_AFTER:
                with suppress(OSError):  # the file of another user
                    path.touch()  # a segment in use stays young, so that the clean-up leaves it
        except (OSError, Damaged):
            return None
        return segment

    def _load_archived(self, blob: BlobId) -> Segment | None:
        """Read an archived segment; a damaged one is removed, so that the next publish archives it again."""
        if self._archive is None:
            return None
        path = _path(self._archive, blob)
        self._archived.discard(blob)
        try:
            return load_segment(zlib.decompress(path.read_bytes()))
        except OSError:
            return None
        except (zlib.error, Damaged):
            with suppress(OSError):
                path.unlink()
            return None


def _weigh(segment: Segment) -> int:
    return _RULES_PER_SEGMENT + len(segment)


def _path(folder: Path, blob: BlobId) -> Path:
    return folder / blob[:2] / f"{blob[2:]}{SEGMENT_SUFFIX}"


def _store(path: Path, data: bytes) -> None:
    with suppress(OutOfSpace, OSError):  # a cache: a full or read-only disk must not stop a read
        make_folder(path.parent, levels=3)
        replace_file(path, data, sync=False)
