"""The projection of a folder: each first-parent commit of the upstream that changes it is a commit here, with the folder's tree.

Author, committer, dates and message stay, and nothing else goes into the commit, so that every node makes the same one.
Merges become commits with one parent.
"""

import os
import re
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from gitstore.git.refs import FileSignature, file_signature
from gitstore.git.repository import Repository
from gitstore.git.transaction import Transaction
from gitstore.layout import CommitId, TreeId

MIRRORED = "Waypost-commit"
"""The trailer of a commit on the upstream of a mirror: the commit here that it carries."""
_MIRRORED = re.compile(rf"\n{MIRRORED}: ([0-9a-f]{{40}})\n*\Z")
_RECORD = struct.Struct("<20s20sI")
_NONE = "0" * 40
_NEWEST = 1_000  # records: what an idle poll looks for is among them, whatever the size of the map
_STEP = 64  # commits that do not change the folder, of which one is in the map
_KEPT_HEADERS = (b"author ", b"committer ", b"encoding ")


class CommitMap:
    """The commits here by those of the upstream, in a file that is written at its end; a cache.

    Not every commit is in it that does not change the folder. A commit from before the folder is there has none here.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: FileSignature | None = None
        self._known = dict[CommitId, CommitId]()
        self.refresh()

    def refresh(self) -> None:
        """Read the map again if another process has changed it."""
        now = file_signature(str(self._path))
        if now != self._seen:
            self._known, self._seen = dict(_parse(_read(self._path))), now

    def has(self, commit: CommitId) -> bool:
        """Tell whether a commit is in the map."""
        return commit in self._known

    def find(self, commit: CommitId) -> CommitId | None:
        """Return the commit here; None if there is none."""
        found = self._known.get(commit, CommitId(_NONE))
        return None if found == _NONE else found

    def find_original(self, here: CommitId) -> CommitId | None:
        """Return the first commit of the upstream that is this one here."""
        return next((commit for commit, found in self._known.items() if found == here), None)

    def add(self, pairs: Mapping[CommitId, CommitId | None]) -> None:
        """Add commits."""
        new = {commit: found or CommitId(_NONE) for commit, found in pairs.items() if commit not in self._known}
        whole = len(self._known) * _RECORD.size
        with self._path.open("r+b" if self._path.exists() else "w+b") as file:
            file.truncate(whole)  # without the half of a record that a killed process left
            file.seek(whole)
            file.writelines(_dump(*pair) for pair in new.items())
        self._known |= new
        self._seen = file_signature(str(self._path))


def find_newest(path: Path, commit: CommitId) -> "Projected | None":
    """Return what one of the newest records of a map has for a commit, without a read of all others; None without any."""
    known = dict(_parse(_read(path, newest=_NEWEST)))
    if commit not in known:
        return None
    return Projected(None if known[commit] == _NONE else known[commit], {})


def _dump(commit: CommitId, found: CommitId) -> bytes:
    pair = bytes.fromhex(commit + found)
    return pair + struct.pack("<I", crc32(pair))


def _read(path: Path, newest: int = 0) -> bytes:
    """Return all whole records of a map, or its newest ones; none of a missing map."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        number = file.seek(0, os.SEEK_END) // _RECORD.size
        wanted = min(newest, number) if newest else number
        file.seek((number - wanted) * _RECORD.size)
        return file.read(wanted * _RECORD.size)
    return b""


def _parse(data: bytes) -> Iterator[tuple[CommitId, CommitId]]:
    """Yield the records up to the first damaged one."""
    for commit, found, checksum in _RECORD.iter_unpack(data[: len(data) // _RECORD.size * _RECORD.size]):
        if crc32(commit + found) != checksum:
            return
        yield CommitId(commit.hex()), CommitId(found.hex())


class Folder(NamedTuple):
    """A folder of the upstream's repository; `is_mirrored` where this node is its only writer."""

    path: str
    is_mirrored: bool = False

    def tree(self, repository: Repository, commit: CommitId) -> TreeId | None:
        """Return its tree at a commit; None if it is not there, or is something else."""
        tree: TreeId | None = repository.commit(commit).tree
        for part in self.path.split("/"):
            tree = repository.folder(tree, part) if tree else None
        return tree

    def list_siblings(self, repository: Repository, commit: CommitId) -> list[str]:
        """Return the paths of the folders beside this one at a commit, or beside the first folder on its path that is missing."""
        tree, above = repository.commit(commit).tree, ""
        for part in self.path.split("/"):
            below = repository.folder(tree, part)
            if below is None:
                break
            tree, above = below, f"{above}{part}/"
        return [f"{above}{entry.name}" for entry in repository.entries(tree) if entry.is_folder]

    def put(self, transaction: Transaction, root: TreeId | None, tree: TreeId) -> TreeId:
        """Write the tree of a whole commit with this folder replaced, and nothing else; return it."""
        return _put(transaction, root, self.path.split("/"), tree)


def _put(transaction: Transaction, root: TreeId | None, parts: list[str], tree: TreeId) -> TreeId:
    base = root or TreeId(transaction.write_object(b"tree", b""))
    name, *below = parts
    inner = _put(transaction, transaction.folder(base, name), below, tree) if below else tree
    return transaction.put_folder(base, name, inner)


class Projected(NamedTuple):
    """The commit here of a commit of the upstream, and what the map does not have yet."""

    here: CommitId | None
    new: Mapping[CommitId, CommitId | None]


def project(transaction: Transaction, known: CommitMap, tip: CommitId, folder: Folder) -> Projected:
    """Return the commit here of a commit of the upstream; the new ones on the way are written."""
    new, start = _list_new(transaction, known, tip)
    here = known.find(start) if start else None
    tree = folder.tree(transaction, start) if start and here else None
    found = dict[CommitId, CommitId | None]()
    for number, commit in enumerate(reversed(new), 1):
        now = folder.tree(transaction, commit)
        is_changed = now != tree and not (now is None and here is None)
        if is_changed:
            here = _carried(transaction, commit, folder) or write_projected(transaction, commit, now, here)
            tree = now
        if is_changed or number % _STEP == 0 or commit == tip:
            found[commit] = here
    return Projected(here, found)


def _list_new(repository: Repository, known: CommitMap, tip: CommitId) -> tuple[list[CommitId], CommitId | None]:
    """List the first parents that are not in the map, newest first, and the first one that is."""
    new, following = list[CommitId](), [tip]
    while following:
        commit = following.pop()
        if known.has(commit):
            return new, commit
        new.append(commit)
        following = list(repository.commit(commit).parents[:1])
    return new, None


def _carried(repository: Repository, commit: CommitId, folder: Folder) -> CommitId | None:
    """Return the commit that a commit on the upstream of a mirror carries."""
    found = _MIRRORED.search(repository.commit(commit).message) if folder.is_mirrored else None
    return CommitId(found[1]) if found else None


def write_projected(
    transaction: Transaction, commit: CommitId, tree: TreeId | None, parent: CommitId | None
) -> CommitId:
    """Write the commit here of a commit of the upstream; return it."""
    root = tree or TreeId(transaction.write_object(b"tree", b""))
    return write_like(transaction, commit, root, parent)


def write_like(
    transaction: Transaction, commit: CommitId, tree: TreeId, parent: CommitId | None, trailer: str = ""
) -> CommitId:
    """Write a commit with people, dates and message of another one, on one parent; return it."""
    head, _, message = transaction.raw(commit)[1].partition(b"\n\n")
    lines = [f"tree {tree}".encode(), *([f"parent {parent}".encode()] if parent else [])]
    lines += [line for line in head.split(b"\n") if line.startswith(_KEPT_HEADERS)]
    if trailer:
        message = _add_trailer(message, trailer.encode())
    return CommitId(transaction.write_object(b"commit", b"\n".join(lines) + b"\n\n" + message))


def _add_trailer(message: bytes, trailer: bytes) -> bytes:
    text = message.rstrip(b"\n")
    last = text.rpartition(b"\n\n")[2]
    has_trailers = b"\n\n" in text and all(re.match(rb"[A-Za-z-]+: ", line) for line in last.split(b"\n"))
    return text + (b"\n" if has_trailers else b"\n\n") + trailer + b"\n"
