"""One namespace's bare repository, held under its lock to be changed: objects and commits are written, refs moved."""

import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from dulwich.objects import Commit, ObjectID, Tree

from gitstore import lock as locks
from gitstore import refs
from gitstore.file_paths import by_folder, taken
from gitstore.layout import BlobId, CommitId, TreeId
from gitstore.objects import ObjectWriter
from gitstore.repository import FILE_MODE, ODD_BYTES, Author, Repository

COMMITTER = "Waypost <service@waypost.invalid>"


class Update(Repository):
    """Reads and writes; made by `update`, which holds the lock."""

    def __init__(self, path: Path, lock: locks.RepositoryLock) -> None:
        super().__init__(path)
        self._lock = lock
        self._writer = ObjectWriter(path)
        self.clock: Callable[[], float] = time.time

    def write_blob(self, data: bytes) -> BlobId:
        """Write a file's content."""
        return self._writer.write_blob(data)

    def write_files(self, base: TreeId | None, changes: Mapping[str, BlobId | None]) -> TreeId | None:
        """The folder `base` with files put or (None) removed.

        Paths are relative to the folder. Only the folders on the way to a change are written; a folder that ends
        empty goes, and None says that nothing is left at all. Invalid where a file would stand in place of a folder
        that stays, or below a file.
        """
        tree = {entry.name: (entry.mode, entry.id) for entry in self.entries(base)} if base else {}
        here, below = by_folder(changes)
        for name in (name for name, content in here.items() if content is None and not _is_folder(tree.get(name))):
            tree.pop(name, None)
        for name, inner in below.items():
            self._put_folder(tree, name, inner)
        for name, content in here.items():
            if content is not None:
                if _is_folder(tree.get(name)):
                    raise taken(name)
                tree[name] = (FILE_MODE, content)
        return self._write_tree(tree)

    def put_folder(self, base: TreeId, name: str, folder: TreeId | None) -> TreeId:
        """The tree `base` with the sub-folder `name` replaced by `folder`, or removed."""
        tree = {entry.name: (entry.mode, entry.id) for entry in self.entries(base) if entry.name != name}
        if folder:
            tree[name] = (stat.S_IFDIR, folder)
        return self._write_tree(tree) or self._writer.write_tree(Tree())

    def _put_folder(self, tree: dict[str, tuple[int, str]], name: str, inner: Mapping[str, BlobId | None]) -> None:
        found = tree.get(name)
        if found and not _is_folder(found):
            if any(inner.values()):
                raise taken(name)
            return  # what should go from below a file is not there
        written = self.write_files(TreeId(found[1]) if found else None, inner)
        if written:
            tree[name] = (stat.S_IFDIR, written)
        else:
            tree.pop(name, None)

    def _write_tree(self, content: Mapping[str, tuple[int, str]]) -> TreeId | None:
        tree = Tree()
        for name, (mode, object_id) in content.items():
            tree.add(name.encode(errors=ODD_BYTES), mode, ObjectID(object_id.encode()))
        return self._writer.write_tree(tree) if content else None

    def write_commit(
        self, tree: TreeId, parents: tuple[CommitId, ...], author: Author, message: str, *, anew: bool = False
    ) -> CommitId:
        """Write a commit by `author`, committed by the service at what `clock` says: now, unless it was set.

        `anew`, it is none that was there before: the same within one second is dated one second later.
        """
        commit = Commit()
        commit.tree = ObjectID(tree.encode())
        commit.parents = [ObjectID(parent.encode()) for parent in parents]
        commit.author = author.line()
        commit.committer = COMMITTER.encode()
        commit.author_time = commit.commit_time = int(self.clock())
        commit.author_timezone = commit.commit_timezone = 0
        commit.encoding = b"UTF-8"
        commit.message = message.replace("\0", "").encode()
        while anew and self._holds(commit):
            commit.author_time = commit.commit_time = commit.commit_time + 1
        return self._writer.write_commit(commit)

    def _holds(self, commit: Commit) -> bool:
        return self._guard(lambda: commit.id in self._repo.object_store, f"object {commit.id.decode()}")

    def move(self, ref: str, old: CommitId | None, new: CommitId) -> None:
        """Make everything written durable, then move the ref: the commit point."""
        self._writer.sync()
        refs.move_ref(self.path, self._lock, ref, old, new)

    def remove(self, ref: str, old: CommitId | None) -> None:
        """Remove a ref that still stands at `old`, or (None) whatever it holds."""
        refs.remove_ref(self.path, self._lock, ref, old)


def _is_folder(entry: tuple[int, str] | None) -> bool:
    return entry is not None and stat.S_ISDIR(entry[0])


@contextmanager
def update(path: Path) -> Iterator[Update]:
    """Open a repository for writing, under its lock."""
    with locks.hold(path) as lock:
        opened = Update(path, lock)
        try:
            yield opened
        finally:
            opened.close()
