"""Writing Git objects durably: temporary file, fsync, rename, fsync of the directory.

dulwich's own writer leaves `<object>.lock` behind when it is killed, which blocks that object for ever, and syncs
nothing; see docs/adr/0006-durability.md.
"""

import os
from contextlib import suppress
from pathlib import Path

from dulwich.objects import Blob, Commit, ShaFile, Tree

from gitstore.durable import replace_file, sync_directory
from gitstore.layout import BlobId, CommitId, TreeId

_COMPRESSION = 1


class ObjectWriter:
    """Writes loose objects; `sync` makes all of them durable and must come before a ref moves to them."""

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
            replace_file(path, obj.as_legacy_object(_COMPRESSION), mode=0o444)
        return name


def _freshen(path: Path) -> bool:
    """Tell whether an object is there already; its time is set to now, so that no `git prune` takes it for old."""
    try:
        with suppress(PermissionError):  # written by another user's git
            os.utime(path)
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False
