"""Git objects as dulwich reads them: loose or packed, damaged or not, and the ancestors of commits."""

import os
import stat
import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from traceback import clear_frames
from typing import TypeVar

from dulwich.errors import (
    ApplyDeltaError,
    ChecksumMismatch,
    FileFormatException,
    NotGitRepository,
    ObjectFormatException,
    ObjectMissing,
    WrongObjectException,
)
from dulwich.object_store import DiskObjectStore
from dulwich.objects import ObjectID, ShaFile
from dulwich.pack import PackFileDisappeared, UnresolvedDeltas
from dulwich.repo import Repo, UnsupportedExtension, UnsupportedVersion

from content.cache import LruCache
from gitstore.errors import Broken
from gitstore.git.alternates import limit_alternates

T = TypeVar("T")
S = TypeVar("S", bound=ShaFile)
_DECODE_ERRORS = (
    LookupError,
    ValueError,
    TypeError,
    BufferError,
    AssertionError,
    EOFError,
    OverflowError,
    struct.error,
)
# The errors of dulwich 1.2.21 for missing or damaged bytes on disk; they share no base class:
# https://github.com/dulwich/dulwich/blob/HEAD/dulwich/errors.py
DAMAGE_ERRORS = (
    *_DECODE_ERRORS,
    *(zlib.error, FileFormatException, WrongObjectException, ObjectMissing, ChecksumMismatch),
    *(ApplyDeltaError, UnresolvedDeltas, PackFileDisappeared),
)
_MOST_READS = 3  # of an object that is not found; it may be packed, and that pack merged, meanwhile
# What dulwich looks at before it takes a folder for a repository that it can read.
_LAYOUT = ("config", "commondir", "objects", "refs")
_MOST_KNOWN = 10_000
_LARGE = 1 << 20  # bytes of a large object
_MOST_LARGE = 16 << 20  # bytes of large objects that are read from packs before they are opened again

_Signature = tuple[tuple[int, ...] | None, ...]
_accepted: LruCache[Path, _Signature] = LruCache(_MOST_KNOWN)


class ObjectReader:
    """A reader of one repository, for one thread. An object that cannot be read is Broken, never absent.

    `restore` writes objects again that a power cut took; `quarantine` is a folder of more objects, those of a push.
    """

    def __init__(self, path: Path, restore: Callable[[], None], quarantine: Path | None = None) -> None:
        self._path = path
        self._quarantine = quarantine
        self._restore = restore
        self._store = self._open()
        self._large = 0

    def close(self) -> None:
        """Close the packs."""
        self._store.close()

    def reopen(self) -> None:
        """Open the packs again, as they are on disk now."""
        self.close()
        self._store = self._open()

    def contains(self, object_id: str) -> bool:
        """Tell whether an object exists, without reading it."""
        name = ObjectID(object_id.encode())
        # Again for an object that was packed between the look at the packs and the one at its own file.
        return any(self._retried(lambda store: name in store, object_id) for _ in range(_MOST_READS))

    def raw(self, object_id: str) -> tuple[int, bytes]:
        """Read any object: the number of its type in a pack, and its bytes."""
        name = ObjectID(object_id.encode())
        found = self._retried(lambda store: store.get_raw(name), f"object {object_id}")
        self.count_read(len(found[1]))
        return found

    def raw_once(self, object_id: str, kind: type[ShaFile]) -> bytes:
        """Read the bytes of an object, quickly; empty if it does not exist, or if the read needs a retry."""
        try:
            found, data = self._store.get_raw(ObjectID(object_id.encode()))
        except DAMAGE_ERRORS as ex:
            clear_frames(ex.__traceback__)
            return b""
        self.count_read(len(data))
        return data if found == kind.type_num else b""

    def count_read(self, size: int) -> None:
        """Count the bytes of an object that was read; open the packs again after many megabytes: what was read of a mapped pack counts as memory until it is closed."""
        if size > _LARGE:
            self._large += size
            if self._large > _MOST_LARGE:
                self._large = 0
                self.reopen()

    def read(self, object_id: str, kind: type[S], take: Callable[[S], T]) -> T:
        """Read an object of a kind, and return what `take` makes of it."""

        def read(store: DiskObjectStore) -> T:
            found = store[ObjectID(object_id.encode())]
            if not isinstance(found, kind):
                raise ObjectFormatException(f"{object_id} is not a {kind.__name__}")
            return take(found)

        return self._retried(read, f"object {object_id}")

    def merge_bases(self, one: str, other: str) -> list[str]:
        """Return the common ancestors that dulwich finds; it raises TypeError for a commit without a time."""
        ends = [ObjectID(one.encode()), ObjectID(other.encode())]
        return [commit.decode() for commit in self._retried(lambda _: self._find_bases(ends), f"history of {one}")]

    def _find_bases(self, ends: Sequence[ObjectID]) -> list[ObjectID]:
        from dulwich.graph import find_merge_base  # noqa: PLC0415 - loads dulwich's walker, which readers never need

        with _open_repository(self._path) as opened:
            limit_alternates(opened.object_store, self._quarantine)
            return find_merge_base(opened, ends)

    def _retried(self, read: Callable[[DiskObjectStore], T], what: str) -> T:
        """Read; on an error read again with fresh packs, which may have been replaced meanwhile; then raise Broken."""
        for left in reversed(range(_MOST_READS)):
            try:
                return read(self._store)
            except (FileNotFoundError, *DAMAGE_ERRORS) as ex:
                clear_frames(ex.__traceback__)  # they hold views of mapped packs, which could not be closed
                if not left:
                    raise Broken(f"The repository {self._path.name} is damaged: {what} cannot be read.") from ex
            if left == 1:
                self._restore()
            self.reopen()
        raise AssertionError  # the last read returned or raised

    def _open(self) -> DiskObjectStore:
        _require_readable(self._path)
        store = DiskObjectStore(str(self._path / "objects"))
        limit_alternates(store, self._quarantine)
        return store


def _require_readable(repository: Path) -> None:
    """Raise Broken for a repository that dulwich does not open, such as one of another format.

    It reads settings that no read of an object needs, which takes as long as reading ten objects: so it is asked again
    only when the repository has changed.
    """
    signature = _sign(repository)  # before the look: a later change is seen by the next reader
    if _accepted.find(repository) == signature:
        return
    _open_repository(repository).close()
    _accepted.put(repository, signature)


def _open_repository(path: Path) -> Repo:
    try:
        return Repo(str(path))
    except (NotGitRepository, UnsupportedVersion, UnsupportedExtension, *DAMAGE_ERRORS) as ex:
        raise Broken(f"The repository {path.name} is damaged: it cannot be opened.") from ex


def _sign(repository: Path) -> _Signature:
    """Return what shows a change of the parts that dulwich checks: the state of files, and whether folders exist."""
    return tuple(_sign_part(f"{repository}/{name}") for name in _LAYOUT)


def _sign_part(path: str) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - pathlib takes twice as long
    except OSError:
        return None
    if stat.S_ISDIR(found.st_mode):
        return (found.st_mode,)
    return found.st_mode, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size
