"""One namespace's bare repository, opened for one operation to read: objects, commits, refs."""

import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from dulwich.objects import Blob, Commit, ObjectID, Tree

from content.cache import LruCache
from gitstore.errors import Broken, StoreError
from gitstore.git import refs
from gitstore.git.commit_parser import ParsedCommit, parse_commit, read_checked, read_loose
from gitstore.git.file_paths import MAX_FOLDER_DEPTH, depth_error
from gitstore.git.object_log import restore_missed
from gitstore.git.object_reader import ObjectReader
from gitstore.git.raw_tree import RawEntry, Unreadable, compare, find_entries
from gitstore.layout import RELEASE_REF, BlobId, CommitId, TreeId

NAME_ERRORS = "surrogateescape"
# What is kept of folders for one operation, so that each one is read and decoded once.
_CACHED_ENTRIES = 40_000
_CACHED_BYTES = 8 << 20
_COMMIT_BYTES = 1_000  # of a commit's other fields
_CLOCK_ERROR = 86_400  # seconds by which the clocks of committers may differ
# The end of the year 9999. A commit may claim any time, or none; it is for display only.
_LAST_SECOND = 253_402_300_799


class Author(NamedTuple):
    """The author of a change, as Git names people."""

    name: str
    email: str

    def line(self) -> bytes:
        """Format the identity for a commit, without characters that would break its header."""
        clean = (part.translate(_NO_HEADER_BREAKS).strip() for part in self)
        name, email = clean
        return f"{name or 'unknown'} <{email or 'unknown@waypost.invalid'}>".encode()


_NO_HEADER_BREAKS = {ord(char): None for char in "<>\n\r\0"}


class CommitInfo(NamedTuple):
    """The fields of a commit that the product needs; `time` is seconds since 1970, for display only."""

    id: CommitId
    tree: TreeId
    parents: tuple[CommitId, ...]
    author: Author
    time: int
    message: str


class TreeEntry(NamedTuple):
    """One entry of a folder."""

    name: str
    mode: int
    id: str

    @property
    def is_folder(self) -> bool:
        """True for a folder."""
        return stat.S_ISDIR(self.mode)


class Repository:
    """A repository open for reading, for one thread. An object that cannot be read is Broken, never absent.

    With `quarantine`, a folder of objects, the objects of a push are there too, before they are in the repository.
    """

    def __init__(self, path: Path, quarantine: Path | None = None) -> None:
        self.path = path
        self.quarantine = quarantine
        self._objects = ObjectReader(path, self._restore, quarantine)
        self._entries: LruCache[TreeId, list[TreeEntry]] = LruCache(_CACHED_ENTRIES, weigh=len)
        self._commits: LruCache[CommitId, CommitInfo] = LruCache(_CACHED_BYTES, weigh=_weigh_commit)
        self._trees: LruCache[TreeId, bytes] = LruCache(_CACHED_BYTES, weigh=len)

    def close(self) -> None:
        """Close the packs."""
        self._objects.close()

    def reopen(self) -> None:
        """Open the packs again, for those that are new in the quarantine."""
        self._objects.reopen()

    def require_head(self) -> None:
        """Raise Broken without the file HEAD: this program does not need it, but `git` does not take pushes then."""
        if not (self.path / "HEAD").is_file():
            raise Broken(f"The repository {self.path.name} is damaged: the file HEAD is missing.")

    def has(self, object_id: str) -> bool:
        """Tell whether an object is there, without reading it."""
        return self._objects.contains(object_id)

    def has_commit(self, object_id: str) -> bool:
        """Tell whether an object is there, can be read, and is a commit."""
        with suppress(StoreError):
            return self.has(object_id) and bool(self.commit(CommitId(object_id)).tree)
        return False

    def release(self) -> CommitId:
        """Return the tip of the release branch. Raises Broken if it is missing, since every namespace has one."""
        found = self.ref(RELEASE_REF)
        if found is None:
            raise Broken(f"The repository {self.path.name} has no release branch.")
        return found

    def ref(self, name: str) -> CommitId | None:
        """Return the commit that a ref names, or None if the ref does not exist."""
        return refs.read_ref(self.path, name)

    def commit(self, commit_id: CommitId) -> CommitInfo:
        """Read a commit."""
        return self._commits.get(commit_id, lambda: self._read_commit(commit_id))

    def _read_commit(self, commit_id: CommitId) -> CommitInfo:
        data = read_loose(self.path, commit_id) or self._objects.raw_once(commit_id, Commit)
        plain = parse_commit(commit_id, data)
        return _parsed_info(commit_id, plain) if plain else self._objects.read(commit_id, Commit, _commit_info)

    def entries(self, tree_id: TreeId) -> list[TreeEntry]:
        """List the entries of a folder, in Git's order; bytes of a name that are not UTF-8 become lone surrogates."""
        found = self._entries.find(tree_id)
        return self._entries.put(tree_id, self._objects.read(tree_id, Tree, _entries)) if found is None else found

    def named_entries(self, tree_id: TreeId, name: str, *, ignores_case: bool = False) -> list[TreeEntry]:
        """Return the entries of a folder that have a name, without decoding the others."""
        found = find_entries(self._tree(tree_id), name.encode(errors=NAME_ERRORS), ignores_case=ignores_case)
        return [_decoded(entry) for entry in found]

    def differing_entries(
        self, old: TreeId | None, new: TreeId
    ) -> dict[str, tuple[TreeEntry | None, TreeEntry | None]]:
        """Return the entries that differ between two folders, before and after, by name; without `old` all of them."""
        try:
            olds, news = compare(self._tree(old) if old else b"", self._tree(new))
        except Unreadable as ex:
            raise Broken(f"The repository {self.path.name} is damaged: a folder in {new} cannot be read.") from ex
        before, after = ({entry.name: entry for entry in map(_decoded, found)} for found in (olds, news))
        pairs = {name: (before.get(name), after.get(name)) for name in before.keys() | after.keys()}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}

    def changed_files(self, old: TreeId, new: TreeId, most: int) -> dict[str, tuple[TreeEntry, TreeEntry]] | None:
        """Return the files of a folder that have another content than in another state of it, by path: both entries.

        None where the folders differ in anything else, or in more than `most` files.
        """
        changed: dict[str, tuple[TreeEntry, TreeEntry]] = {}
        ahead = [("", old, new)]
        while ahead:
            prefix, before, after = ahead.pop()
            for name, (one, other) in self.differing_entries(before, after).items():
                if one is None or other is None or one.mode != other.mode:
                    return None
                if one.is_folder:
                    ahead.append((f"{prefix}{name}/", TreeId(one.id), TreeId(other.id)))
                else:
                    changed[prefix + name] = one, other
            if len(changed) + len(ahead) > most or prefix.count("/") > MAX_FOLDER_DEPTH:
                return None
        return changed

    def _tree(self, tree_id: TreeId) -> bytes:
        found = self._trees.find(tree_id)
        return self._trees.put(tree_id, self._read_tree(tree_id)) if found is None else found

    def _read_tree(self, tree_id: TreeId) -> bytes:
        data = read_checked(self.path, tree_id, "tree") or self._objects.raw_once(
            tree_id, Tree
        )  # dulwich decodes each entry
        return data or self._objects.read(tree_id, Tree, _bytes)

    def raw(self, object_id: str) -> tuple[int, bytes]:
        """Read any object: the number of its type in a pack, and its bytes."""
        return self._objects.raw(object_id)

    def blob(self, blob_id: BlobId) -> bytes:
        """Read a file's content."""
        data = read_checked(self.path, blob_id, "blob")
        if data is None:
            data = self._objects.read(blob_id, Blob, lambda blob: blob.data)
            self._objects.count_read(len(data))
        return data

    def has_file(self, tree_id: TreeId, path: str) -> bool:
        """Tell whether a folder has a file at a path, without decoding the others."""
        *folders, name = path.split("/")
        for folder in folders:
            found = [entry for entry in self.named_entries(tree_id, folder) if entry.is_folder]
            if len(found) != 1:
                return False
            tree_id = TreeId(found[0].id)
        return any(not entry.is_folder for entry in self.named_entries(tree_id, name))

    def folder(self, tree_id: TreeId, name: str) -> TreeId | None:
        """Return the id of a sub-folder, or None if it does not exist."""
        found = [entry for entry in self.named_entries(tree_id, name) if entry.is_folder] or (
            # Bytes that are not a folder's have no entry either: then this raises Broken.
            [entry for entry in self.entries(tree_id) if entry.name == name and entry.is_folder]
        )
        return next((TreeId(entry.id) for entry in found), None)

    def files_named(self, tree_id: TreeId, *names: str) -> dict[str, TreeEntry]:
        """Return the files in a folder itself that have one of these names, such as `project.yaml`."""
        return {entry.name: entry for entry in self.entries(tree_id) if entry.name in names and not entry.is_folder}

    def tree_id_without(self, tree_id: TreeId, name: str) -> TreeId:
        """Compute the id that a folder would have without an entry; nothing is written."""
        tree = Tree()
        for entry in self.entries(tree_id):
            if entry.name != name:
                tree.add(entry.name.encode(errors=NAME_ERRORS), entry.mode, ObjectID(entry.id.encode()))
        return TreeId(tree.id.decode())

    def files(self, tree_id: TreeId) -> list[tuple[str, TreeEntry]]:
        """List all files below a folder as (path, entry), in path order."""
        return sorted(self._walk(tree_id, ""))

    def first_parents(self, commit_id: CommitId) -> Iterator[CommitInfo]:
        """Yield the commit and its first parents, newest first."""
        following: CommitId | None = commit_id
        while following:
            info = self.commit(following)
            yield info
            following = info.parents[0] if info.parents else None

    def merge_base(self, one: CommitId, other: CommitId) -> CommitId | None:
        """Return the best common ancestor, or None for unrelated histories."""
        try:
            bases = list(map(CommitId, self._objects.merge_bases(one, other)))
        except (Broken, TypeError):
            # dulwich 1.2.21 orders by commit time, and fails on a commit without one:
            # https://github.com/dulwich/dulwich/blob/HEAD/dulwich/graph.py
            known = set(self._ancestors(one))
            bases = list(islice((commit for commit in self._ancestors(other) if commit in known), 1))
        # For the same reason it also returns ancestors of the best one, among commits of the same second.
        best = (base for base in bases if not any(self._has_ancestor(each, base) for each in bases if each != base))
        return next(best, None)

    def _ancestors(self, start: CommitId) -> Iterator[CommitId]:
        """Yield the commit and all its ancestors, nearest first."""
        seen, ahead = {start}, deque([start])
        while ahead:
            yield (commit := ahead.popleft())
            new = [parent for parent in self.commit(commit).parents if parent not in seen]
            seen.update(new)
            ahead.extend(new)

    def _has_ancestor(self, start: CommitId, goal: CommitId) -> bool:
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

    def _walk(self, tree_id: TreeId, prefix: str, depth: int = 1) -> Iterator[tuple[str, TreeEntry]]:
        if depth > MAX_FOLDER_DEPTH:
            raise depth_error(prefix)
        for entry in self.entries(tree_id):
            if entry.is_folder:
                yield from self._walk(TreeId(entry.id), f"{prefix}{entry.name}/", depth + 1)
            else:
                yield prefix + entry.name, entry

    def _restore(self) -> None:
        """Write objects again that a power cut took, for the last read."""
        restore_missed(self.path)


def _commit_info(commit: Commit) -> CommitInfo:
    name, _, email = commit.author.decode(errors="replace").partition(" <")
    return CommitInfo(
        CommitId(commit.id.decode()),
        TreeId(commit.tree.decode()),
        tuple(CommitId(parent.decode()) for parent in commit.parents),
        Author(name, email.rstrip(">")),
        min(max(commit.commit_time or 0, 0), _LAST_SECOND),
        (commit.message or b"").decode(errors="replace"),  # None without an empty line after the headers
    )


def _parsed_info(commit_id: CommitId, found: ParsedCommit) -> CommitInfo:
    parents = tuple(map(CommitId, found.parents))
    author, time_ = Author(found.name, found.email), min(found.time, _LAST_SECOND)
    return CommitInfo(commit_id, TreeId(found.tree), parents, author, time_, found.message)


def _weigh_commit(info: CommitInfo) -> int:
    return len(info.message) + _COMMIT_BYTES


def _bytes(tree: Tree) -> bytes:
    return tree.as_raw_string()


def _decoded(entry: RawEntry) -> TreeEntry:
    return TreeEntry(entry.name.decode(errors=NAME_ERRORS), int(entry.mode, 8), entry.id.hex())


def _entries(tree: Tree) -> list[TreeEntry]:
    return [TreeEntry(entry.path.decode(errors=NAME_ERRORS), entry.mode, entry.sha.decode()) for entry in tree.items()]


@contextmanager
def open_repository(path: Path, quarantine: Path | None = None) -> Iterator[Repository]:
    """Open a repository for reading, with the objects of a push in quarantine if there is one."""
    repository = Repository(path, quarantine)
    try:
        yield repository
    finally:
        repository.close()
