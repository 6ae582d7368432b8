"""Durable writes of Git objects: temporary file, fsync, rename, fsync of the directory.

See docs/adr/0006-durability.md.
"""

import os
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

from dulwich.object_store import DiskObjectStore
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree

from gitstore.errors import Busy
from gitstore.git.atomic_io import replace_file, sync_directory
from gitstore.layout import BlobId, CommitId, TreeId

_COMPRESSION = 1
_ATTEMPTS = 10


class ObjectWriter:
    """A writer of loose objects; `sync` makes them all durable, and has to come before a ref moves to them."""

    def __init__(self, repository: Path) -> None:
        self._objects = repository / "objects"
        self._touched: dict[Path, list[str]] = {}
        self._reused: dict[Path, ShaFile] = {}

    def write_blob(self, data: bytes) -> BlobId:
        """Write a file's content."""
        return BlobId(self._write(Blob.from_string(data)))

    def write_tree(self, tree: Tree) -> TreeId:
        """Write a folder."""
        return TreeId(self._write(tree))

    def write_commit(self, commit: Commit) -> CommitId:
        """Write a commit."""
        return CommitId(self._write(commit))

    def sync(self) -> None:
        """Make the names of all objects written so far durable. Raises Busy if another program has removed one.

        An object that was there already may have been in a pack too, and a git that removes its file, then the pack, does
        not know of this change: it is written again.
        """
        for _ in range(_ATTEMPTS):
            self._sync_folders()
            missing = {path: obj for path, obj in self._reused.items() if not path.exists()}
            if not missing:
                self._reused.clear()
                return
            for path, obj in missing.items():
                self._touched.setdefault(path.parent, []).append(obj.id.decode())
                _write_file(path, obj.as_legacy_object(_COMPRESSION))
        raise Busy("Another program removed objects of this change again and again; nothing changed. Try again.")

    def _sync_folders(self) -> None:
        for folder, names in self._touched.items():
            try:
                sync_directory(folder)
            except FileNotFoundError:  # removed by a git that has packed its objects, as `git prune-packed` does
                self._require_packed(names)
        if self._touched:
            sync_directory(self._objects)
        self._touched.clear()

    def _require_packed(self, names: Sequence[str]) -> None:
        with closing(DiskObjectStore(str(self._objects))) as store:
            if not all(ObjectID(name.encode()) in store for name in names):
                raise Busy("Another program removed new objects of this change; nothing changed. Try again.")

    def _write(self, obj: ShaFile) -> str:
        name = obj.id.decode()
        path = self._objects / name[:2] / name[2:]
        self._touched.setdefault(path.parent, []).append(name)
        if _freshen(path):
            self._reused[path] = obj
        else:
            # Not by dulwich's `add_object` (1.2.21). It writes through `<object>.lock`: a kill leaves that file, and
            # every later write of the object fails. It also syncs no directory, and the file only with
            # `core.fsyncObjectFiles`: https://github.com/dulwich/dulwich/blob/HEAD/dulwich/object_store.py
            _write_file(path, obj.as_legacy_object(_COMPRESSION))
        return name


def _write_file(path: Path, data: bytes) -> None:
    for is_last in (False,) * _ATTEMPTS + (True,):
        path.parent.mkdir(exist_ok=True)
        try:
            replace_file(path, data, mode=0o444)
        except FileNotFoundError:  # `git prune-packed` removes folders as soon as they are empty
            if is_last:
                raise
        else:
            return


def blob_id(data: bytes) -> BlobId:
    """Compute the id of a file's content in Git; nothing is written."""
    return BlobId(Blob.from_string(data).id.decode())


def _freshen(path: Path) -> bool:
    """Tell whether an object exists, and set its time to now, so that `git prune` does not take it for an old one."""
    try:
        with suppress(PermissionError):  # written by another user's git
            os.utime(path)
        return path.stat().st_size > 0  # a power cut can leave an empty file where another writer did not sync
    except FileNotFoundError:
        return False
