"""One namespace's bare repository, opened for one operation: reading objects, writing commits, moving refs.

Two doors: `Repository` reads; `Update`, held under the repository's lock, also writes.
"""

import stat
import struct
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from traceback import clear_frames
from typing import NamedTuple, TypeVar

from dulwich.errors import (
    ApplyDeltaError,
    ChecksumMismatch,
    FileFormatException,
    NotGitRepository,
    ObjectFormatException,
    ObjectMissing,
    WrongObjectException,
)
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree
from dulwich.pack import PackFileDisappeared, UnresolvedDeltas
from dulwich.repo import Repo, UnsupportedVersion

from gitstore import lock as locks
from gitstore import refs
from gitstore.errors import Broken
from gitstore.file_paths import DEEPEST, by_folder, taken, too_deep
from gitstore.layout import RELEASE_REF, BlobId, CommitId, TreeId
from gitstore.objects import ObjectWriter
from gitstore.plain_commit import PlainCommit, parse_plain, read_loose

T = TypeVar("T")
S = TypeVar("S", bound=ShaFile)
_MISREAD = (LookupError, ValueError, TypeError, BufferError, AssertionError, EOFError, OverflowError, struct.error)
_DAMAGE = (
    *_MISREAD,
    *(zlib.error, FileFormatException, WrongObjectException, ObjectMissing, ChecksumMismatch),
    *(ApplyDeltaError, UnresolvedDeltas, PackFileDisappeared),
)
"""What dulwich lets out when bytes on disk are missing or not what they were."""
FILE_MODE = 0o100644
SUBMODULE_MODE = 0o160000
_ODD_BYTES = "surrogateescape"
_CLOCK_ERROR = 86_400
"""Seconds by which the clocks of those who commit may differ."""
_LAST_SECOND = 253_402_300_799
"""The end of the year 9999: a commit may claim any time, or none, and it is for display only."""
COMMITTER = "Waypost <service@waypost.invalid>"


class Author(NamedTuple):
    """Who made a change, as Git names people."""

    name: str
    email: str

    def line(self) -> bytes:
        """The identity for a commit, without what would break its header."""
        clean = (part.translate(_NO_HEADER_BREAKS).strip() for part in self)
        name, email = clean
        return f"{name or 'unknown'} <{email or 'unknown@waypost.invalid'}>".encode()


_NO_HEADER_BREAKS = {ord(char): None for char in "<>\n\r\0"}


class CommitInfo(NamedTuple):
    """What the product needs of a commit; `time` is seconds since 1970, for display only."""

    id: CommitId
    tree: TreeId
    parents: tuple[CommitId, ...]
    author: Author
    time: int
    message: str


class Entry(NamedTuple):
    """One entry of a folder."""

    name: str
    mode: int
    id: str

    @property
    def is_folder(self) -> bool:
        """Tell whether the entry is a folder."""
        return stat.S_ISDIR(self.mode)


class Repository:
    """Reads; objects that cannot be read are Broken, never absent."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._repo = self._open()

    def close(self) -> None:
        """Close the packs."""
        self._repo.close()

    def release(self) -> CommitId:
        """The tip of the release branch; Broken where it is missing, for every namespace has one."""
        found = self.ref(RELEASE_REF)
        if found is None:
            raise Broken(f"The repository {self.path.name} has no release branch.")
        return found

    def ref(self, name: str) -> CommitId | None:
        """The commit that a ref names."""
        return refs.read_ref(self.path, name)

    def commit(self, commit_id: CommitId) -> CommitInfo:
        """Read a commit."""
        data = read_loose(self.path, commit_id) or self._packed(commit_id)
        plain = parse_plain(commit_id, data)
        return _plain_info(commit_id, plain) if plain else self._read(commit_id, Commit, _commit_info)

    def _packed(self, commit_id: CommitId) -> bytes:
        """The bytes of a commit, quickly; none where there is no such one, or reading it has to be tried again."""
        try:
            kind, data = self._repo.object_store.get_raw(ObjectID(commit_id.encode()))
        except _DAMAGE as ex:
            clear_frames(ex.__traceback__)
            return b""
        return data if kind == Commit.type_num else b""

    def entries(self, tree_id: TreeId) -> list[Entry]:
        """The entries of a folder, in Git's order; bytes of a name that are not UTF-8 are escaped as lone surrogates."""
        return self._read(tree_id, Tree, _entries)

    def blob(self, blob_id: BlobId) -> bytes:
        """Read a file's content."""
        return self._read(blob_id, Blob, lambda blob: blob.data)

    def folder(self, tree_id: TreeId, name: str) -> TreeId | None:
        """The id of a sub-folder, or None where there is none of that name."""
        found = (entry for entry in self.entries(tree_id) if entry.name == name and entry.is_folder)
        return next((TreeId(entry.id) for entry in found), None)

    def id_without(self, tree_id: TreeId, name: str) -> TreeId:
        """The id that a folder would have without an entry; nothing is written."""
        tree = Tree()
        for entry in self.entries(tree_id):
            if entry.name != name:
                tree.add(entry.name.encode(errors=_ODD_BYTES), entry.mode, ObjectID(entry.id.encode()))
        return TreeId(tree.id.decode())

    def files(self, tree_id: TreeId) -> list[tuple[str, Entry]]:
        """All files below a folder as (path, entry), in path order."""
        return sorted(self._walk(tree_id, ""))

    def first_parents(self, commit_id: CommitId) -> Iterator[CommitInfo]:
        """The commit and its first parents, newest first."""
        following: CommitId | None = commit_id
        while following:
            info = self.commit(following)
            yield info
            following = info.parents[0] if info.parents else None

    def merge_base(self, one: CommitId, other: CommitId) -> CommitId | None:
        """The best common ancestor, or None for unrelated histories."""
        # Imported here: it pulls in dulwich's whole walker, which readers never need.
        from dulwich.graph import find_merge_base  # noqa: PLC0415

        ends = [ObjectID(one.encode()), ObjectID(other.encode())]
        try:
            found = self._guard(lambda: find_merge_base(self._repo, ends), f"history of {one}")
            bases = [CommitId(commit.decode()) for commit in found]
        except (Broken, TypeError):  # dulwich goes by times, and stumbles over a commit that has none
            known = set(self._ancestors(one))
            bases = list(islice((commit for commit in self._ancestors(other) if commit in known), 1))
        # dulwich goes by time, and among commits of the same second also gives ancestors of the best one.
        best = (base for base in bases if not any(self._leads_to(each, base) for each in bases if each != base))
        return next(best, None)

    def _ancestors(self, start: CommitId) -> Iterator[CommitId]:
        """The commit and all that it comes from, nearer ones first."""
        seen, ahead = {start}, deque([start])
        while ahead:
            yield (commit := ahead.popleft())
            new = [parent for parent in self.commit(commit).parents if parent not in seen]
            seen.update(new)
            ahead.extend(new)

    def _leads_to(self, start: CommitId, goal: CommitId) -> bool:
        """Tell whether `goal` is an ancestor of `start`; commits much older than the goal are not followed."""
        oldest = self.commit(goal).time - _CLOCK_ERROR
        seen, ahead = {start}, [start]
        while ahead:
            info = self.commit(ahead.pop())
            if goal in info.parents:
                return True
            new = set(info.parents) - seen if info.time >= oldest else set()
            seen |= new
            ahead += new
        return False

    def _walk(self, tree_id: TreeId, prefix: str, depth: int = 1) -> Iterator[tuple[str, Entry]]:
        if depth > DEEPEST:
            raise too_deep(prefix)
        for entry in self.entries(tree_id):
            if entry.is_folder:
                yield from self._walk(TreeId(entry.id), f"{prefix}{entry.name}/", depth + 1)
            else:
                yield prefix + entry.name, entry

    def _read(self, object_id: str, kind: type[S], take: Callable[[S], T]) -> T:
        def read() -> T:
            found = self._repo[ObjectID(object_id.encode())]
            if not isinstance(found, kind):
                raise ObjectFormatException(f"{object_id} is no {kind.__name__}")
            return take(found)

        return self._guard(read, f"object {object_id}")

    def _guard(self, read: Callable[[], T], what: str) -> T:
        """Read; once again with fresh packs, which may have been replaced meanwhile; then Broken."""
        try:
            return read()
        except _DAMAGE as ex:
            clear_frames(ex.__traceback__)  # they look into mapped packs, which could not be closed
            self.close()
            self._repo = self._open()
        try:
            return read()
        except _DAMAGE as ex:
            clear_frames(ex.__traceback__)
            raise Broken(f"The repository {self.path.name} is damaged: {what} cannot be read.") from ex

    def _open(self) -> Repo:
        try:
            return Repo(str(self.path))
        except (NotGitRepository, UnsupportedVersion, *_DAMAGE) as ex:
            raise Broken(f"The repository {self.path.name} is damaged: it cannot be opened.") from ex


def _commit_info(commit: Commit) -> CommitInfo:
    name, _, email = commit.author.decode(errors="replace").partition(" <")
    return CommitInfo(
        CommitId(commit.id.decode()),
        TreeId(commit.tree.decode()),
        tuple(CommitId(parent.decode()) for parent in commit.parents),
        Author(name, email.rstrip(">")),
        min(max(commit.commit_time or 0, 0), _LAST_SECOND),
        commit.message.decode(errors="replace"),
    )


def _plain_info(commit_id: CommitId, found: PlainCommit) -> CommitInfo:
    parents = tuple(map(CommitId, found.parents))
    author, time_ = Author(found.name, found.email), min(found.time, _LAST_SECOND)
    return CommitInfo(commit_id, TreeId(found.tree), parents, author, time_, found.message)


def _entries(tree: Tree) -> list[Entry]:
    return [Entry(entry.path.decode(errors=_ODD_BYTES), entry.mode, entry.sha.decode()) for entry in tree.items()]


@contextmanager
def view(path: Path) -> Iterator[Repository]:
    """Open a repository for reading."""
    repository = Repository(path)
    try:
        yield repository
    finally:
        repository.close()


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
            tree.add(name.encode(errors=_ODD_BYTES), mode, ObjectID(object_id.encode()))
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
