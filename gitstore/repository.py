"""One namespace's bare repository, opened for one operation to read: objects, commits, refs."""

import stat
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterator
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

from gitstore import refs
from gitstore.errors import Broken
from gitstore.file_paths import DEEPEST, too_deep
from gitstore.layout import RELEASE_REF, BlobId, CommitId, TreeId
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
ODD_BYTES = "surrogateescape"
_CLOCK_ERROR = 86_400
"""Seconds by which the clocks of those who commit may differ."""
_LAST_SECOND = 253_402_300_799
"""The end of the year 9999: a commit may claim any time, or none, and it is for display only."""


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
                tree.add(entry.name.encode(errors=ODD_BYTES), entry.mode, ObjectID(entry.id.encode()))
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
    return [Entry(entry.path.decode(errors=ODD_BYTES), entry.mode, entry.sha.decode()) for entry in tree.items()]


@contextmanager
def view(path: Path) -> Iterator[Repository]:
    """Open a repository for reading."""
    repository = Repository(path)
    try:
        yield repository
    finally:
        repository.close()
