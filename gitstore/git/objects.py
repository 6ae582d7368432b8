"""Durable writes of Git objects: each goes to the log of new objects first, and one sync of the log comes before a ref moves.

See docs/adr/0035-one-log-of-new-objects.md.
"""

import os
import zlib
from contextlib import suppress
from hashlib import sha1
from pathlib import Path

from dulwich.objects import Blob, Commit, Tree

from gitstore.errors import Busy
from gitstore.git.object_log import ObjectLog, Place, object_path, write_object_file
from gitstore.layout import BlobId, CommitId, TreeId

_COMPRESSION = 1
_ATTEMPTS = 10


class ObjectWriter:
    """A writer of loose objects; `sync` makes them all durable, and has to come before a ref moves to them."""

    def __init__(self, repository: Path) -> None:
        self._objects = repository / "objects"
        self._log = ObjectLog(repository)
        self._written: dict[Path, Place] = {}

    def write_blob(self, data: bytes) -> BlobId:
        """Write a file's content."""
        return BlobId(self._write(Blob.type_name, data))

    def write_tree(self, data: bytes) -> TreeId:
        """Write the bytes of a folder; they are not parsed, since a folder may have thousands of entries."""
        return TreeId(self._write(Tree.type_name, data))

    def write_commit(self, commit: Commit) -> CommitId:
        """Write a commit."""
        return CommitId(self._write(Commit.type_name, commit.as_raw_string()))

    def write_object(self, kind: bytes, data: bytes) -> str:
        """Write an object of any type, from its bytes; return its id."""
        return self._write(kind, data)

    def sync(self) -> None:
        """Make all objects written so far durable. Raises Busy if another program removes their files again and again.

        An object that was there already may have been in a pack too, and a git that removes its file, then the pack, does
        not know of this change: it is written again.
        """
        if not self._written:
            return
        self._log.sync()
        for _ in range(_ATTEMPTS):
            missing = [path for path in self._written if not path.exists()]
            if not missing:
                self._written.clear()
                return
            for path in missing:
                write_object_file(path, self._log.read(self._written[path]))
        raise Busy("Another program removed objects of this change again and again; nothing changed. Try again.")

    def close(self) -> None:
        """Close the log."""
        self._log.close()

    def _write(self, kind: bytes, content: bytes) -> str:
        whole = b"%b %d\0%b" % (kind, len(content), content)
        name = sha1(whole, usedforsecurity=False).hexdigest()
        path = object_path(self._objects, name)
        found = _freshen(path, whole)
        if found is None or path not in self._written:
            # Not by dulwich's `add_object` (1.2.21). It writes through `<object>.lock`: a kill leaves that file, and
            # every later write of the object fails. https://github.com/dulwich/dulwich/blob/HEAD/dulwich/object_store.py
            data = zlib.compress(whole, _COMPRESSION) if found is None else found
            self._written[path] = self._log.append(name, data)
            if found is None:
                write_object_file(path, data)
        return name


def blob_id(data: bytes) -> BlobId:
    """Compute the id of a file's content in Git; nothing is written."""
    return BlobId(Blob.from_string(data).id.decode())


def _freshen(path: Path, whole: bytes) -> bytes | None:
    """Return the bytes of an object's file, and set its time to now, so that `git prune` does not take it for an old one.

    None if there is no such file, or a damaged one, as a power cut may leave where another writer did not sync.
    """
    try:
        with suppress(PermissionError):  # written by another user's git
            os.utime(path)
        data = path.read_bytes()
        is_intact = zlib.decompress(data) == whole
    except (FileNotFoundError, zlib.error):
        return None
    return data if is_intact else None
