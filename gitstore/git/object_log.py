"""The log of new objects, which makes a change durable by one sync, whatever the number of its objects.

A writer appends each object here before it writes the object's own file, and syncs only the log. What a power cut took of
those files is written again from the log: by the next writer, by a reader that misses an object, and by the service soon
after its start. Files that were synced since leave the log in the background. See docs/adr/0035-one-log-of-new-objects.md.
"""

import hashlib
import mmap
import os
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from dulwich.errors import ChecksumMismatch
from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID

from gitstore.errors import Busy, NotFound, OutOfSpace
from gitstore.git.atomic_io import replace_file, sync_directory, translate_os_error, write_all
from gitstore.git.lock import hold

FILE_NAME = "waypost-objects"
OLD_NAME = f"{FILE_NAME}.old"
MOST_BYTES = 4 << 20
"""The size of a log above which it is emptied."""
MOST_SECONDS = 3600.0
"""The seconds without a change after which a log of any size is emptied."""
# The start of a record. A kill or a full disk can leave half of one: the next begins at the next mark.
_MARK = b"\0waypost object\n"
_RECORD = struct.Struct(f">{len(_MARK)}s20sQ")
_TITLE = b"objects of boot "
_LOCK_SECONDS = 5.0
_ATTEMPTS = 10
_DAMAGE = (zlib.error, ValueError, KeyError, AssertionError, struct.error, ChecksumMismatch, OSError)


class Place(NamedTuple):
    """The place of an object's bytes in the log."""

    offset: int
    size: int


class ObjectLog:
    """The log of a repository, for one writer that holds the repository's lock."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        self._handle: int | None = None

    def append(self, object_id: str, data: bytes) -> Place:
        """Append the bytes of an object's own file. Raises OutOfSpace, and then leaves nothing behind."""
        handle = self._open()
        offset = os.fstat(handle).st_size
        try:
            write_all(handle, _RECORD.pack(_MARK, bytes.fromhex(object_id), len(data)) + data)
        except OSError as ex:
            with suppress(OSError):
                os.ftruncate(handle, offset)
            raise translate_os_error(ex) from ex
        return Place(offset + _RECORD.size, len(data))

    def read(self, place: Place) -> bytes:
        """Read the bytes of an object that this writer appended."""
        return os.pread(self._open(), place.size, place.offset)

    def sync(self) -> None:
        """Make all that was appended durable."""
        os.fdatasync(self._open())

    def close(self) -> None:
        """Close the file."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _open(self) -> int:
        if self._handle is None:
            path = self._repository / FILE_NAME
            if not path.exists():
                _begin(self._repository)
            self._handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            if os.fstat(self._handle).st_size <= len(_title()):
                sync_directory(self._repository)  # before its first record, since no later writer syncs the name
        return self._handle


def needs_restore(repository: Path) -> bool:
    """Tell whether the machine has started again since the log was begun: files may be missing."""
    return any(_read_title(repository / name) not in {b"", _title()} for name in (OLD_NAME, FILE_NAME))


def restore(repository: Path) -> int:
    """Write objects again that are in the log, but have no intact file; return their number. The caller holds the lock.

    After a start of the machine the log is emptied. Raises OutOfSpace.
    """
    objects, count = repository / "objects", 0
    with closing(DiskObjectStore(str(objects))) as store:
        for name in (OLD_NAME, FILE_NAME):
            for object_id, data in read_log(repository / name):
                if not _is_intact(store, object_path(objects, object_id), object_id, data):
                    write_object_file(object_path(objects, object_id), data)
                    count += 1
    if needs_restore(repository):
        for name in (OLD_NAME, FILE_NAME):
            _sync_files(repository, name)
        _begin(repository)
        sync_directory(repository)
        (repository / OLD_NAME).unlink(missing_ok=True)
    return count


def restore_missed(repository: Path) -> None:
    """Restore the log's objects for a reader that misses one, after a start of the machine; not while a writer is at work."""
    with suppress(OSError, OutOfSpace, Busy, NotFound):
        if needs_restore(repository):
            with hold(repository, _LOCK_SECONDS):
                restore(repository)


def is_log_due(repository: Path, now: float | None = None) -> bool:
    """Tell whether the log has to be emptied, or its objects restored after a start of the machine."""
    now = time.time() if now is None else now
    with suppress(FileNotFoundError):
        status = (repository / FILE_NAME).stat()
        is_old = status.st_size > len(_title()) and now - status.st_mtime > MOST_SECONDS
        is_left = (repository / OLD_NAME).exists()  # a kill stopped the last emptying
        return is_old or is_left or status.st_size > MOST_BYTES or needs_restore(repository)
    return (repository / OLD_NAME).exists()


def empty_log(repository: Path) -> None:
    """Sync the files of the objects in the log, then drop it; writers go on in a new one. The caller holds the packing.

    Raises Busy, or OSError where a file cannot be synced; the log stays then.
    """
    old = repository / OLD_NAME
    with hold(repository, _LOCK_SECONDS):
        if needs_restore(repository):
            restore(repository)
        if not old.exists() and (repository / FILE_NAME).exists():
            os.link(repository / FILE_NAME, old)
            _begin(repository)
    _sync_files(repository, OLD_NAME)
    old.unlink(missing_ok=True)


def read_log(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the id of each object in a log, and the bytes of its file; what is damaged is left out."""
    with (
        suppress(
            FileNotFoundError, ValueError
        ),  # an empty file cannot be mapped: https://docs.python.org/3/library/mmap.html
        path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        at = data.find(_MARK)
        while at >= 0:
            record = _read_record(data, at)
            if record:
                yield record
            following = at + _RECORD.size + len(record[1]) if record else at + 1
            at = data.find(_MARK, following)


def object_path(objects: Path, object_id: str) -> Path:
    """Return the own file of an object."""
    return objects / object_id[:2] / object_id[2:]


def write_object_file(path: Path, data: bytes) -> None:
    """Write an object's own file; the log makes it durable."""
    for is_last in (False,) * _ATTEMPTS + (True,):
        path.parent.mkdir(exist_ok=True)
        try:
            replace_file(path, data, sync=False, mode=0o444)
        except FileNotFoundError:  # `git prune-packed` removes folders as soon as they are empty
            if is_last:
                raise
        else:
            return


def _begin(repository: Path) -> None:
    """Put an empty log in the place of the present one."""
    replace_file(repository / FILE_NAME, _title(), sync=False)


@lru_cache(maxsize=1)
def _title() -> bytes:
    """Return the first line of a log: it has the id of this start of the machine."""
    # https://man7.org/linux/man-pages/man5/proc_sys_kernel.5.html
    return _TITLE + Path("/proc/sys/kernel/random/boot_id").read_bytes().strip() + b"\n"


def _read_title(path: Path) -> bytes:
    """Read the first line of a log; empty if there is no log."""
    try:
        with path.open("rb", buffering=0) as file:
            return file.read(len(_title())) or b"\n"
    except FileNotFoundError:
        return b""


def _read_record(data: mmap.mmap, at: int) -> tuple[str, bytes] | None:
    """Read the record at a mark; None if it is damaged."""
    if at + _RECORD.size > len(data):
        return None
    _, object_id, size = _RECORD.unpack_from(data, at)
    start = at + _RECORD.size
    content = data[start : start + size]
    return (object_id.hex(), content) if _names(object_id.hex(), content) else None


def _names(object_id: str, data: bytes) -> bool:
    """Tell whether an id is that of an object's file."""
    try:
        return hashlib.sha1(zlib.decompress(data), usedforsecurity=False).hexdigest() == object_id
    except zlib.error:
        return False


def _is_intact(store: DiskObjectStore, path: Path, object_id: str, data: bytes) -> bool:
    """Tell whether readers find an object with these bytes."""
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        try:
            return store.contains_packed(ObjectID(object_id.encode()))
        except _DAMAGE:
            return False
    except OSError:
        return False
    return found == data or _names(object_id, found)


def _sync_files(repository: Path, name: str) -> None:
    """Make the files of the objects in a log durable, with their names; objects without a file are packed, or pruned."""
    objects = repository / "objects"
    folders = dict[Path, None]()
    for object_id, _ in read_log(repository / name):
        path = object_path(objects, object_id)
        with suppress(FileNotFoundError):
            _sync_file(path)
            folders[path.parent] = None
    for folder in folders:
        with suppress(FileNotFoundError):
            sync_directory(folder)
    if folders:
        sync_directory(objects)


def _sync_file(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
