"""Durable writes of Git objects: temporary file, fsync, rename, fsync of the directory.

See docs/adr/0006-durability.md.
"""

import os
from contextlib import suppress
from pathlib import Path

from dulwich.objects import Blob, Commit, ShaFile, Tree

from gitstore.git.atomic_io import replace_file, sync_directory
from gitstore.layout import BlobId, CommitId, TreeId

_COMPRESSION = 1


class ObjectWriter:
    """A writer of loose objects; `sync` makes them all durable, and has to come before a ref moves to them."""

    def __init__(self, repository: Path) -> None:
        self._objects = repository / "objects"
        self._touched: set[Path] = set()

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
        """Make the names of all objects written so far durable."""
        for folder in self._touched:
            sync_directory(folder)
        if self._touched:
            sync_directory(self._objects)
        self._touched.clear()

    def _write(self, obj: ShaFile) -> str:
        name = obj.id.decode()
        path = self._objects / name[:2] / name[2:]
        self._touched.add(path.parent)
        if not _freshen(path):
            path.parent.mkdir(exist_ok=True)
            # Not by dulwich's `add_object` (1.2.21). It writes through `<object>.lock`: a kill leaves that file, and
            # every later write of the object fails. It also syncs no directory, and the file only with
            # `core.fsyncObjectFiles`: https://github.com/dulwich/dulwich/blob/HEAD/dulwich/object_store.py
            replace_file(path, obj.as_legacy_object(_COMPRESSION), mode=0o444)
        return name


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
