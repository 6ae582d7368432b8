"""The objects that some packed commits reach, found in one walk, the newest first, as the packs are read fastest.

A clone of which nothing is kept waits for it, so it does less than `selection`: there is no client that has a part, and
no filter. Each commit and folder is read once, and of a large folder only what differs from its next version.
"""

import re
from binascii import unhexlify
from collections.abc import Iterable
from contextlib import suppress

from gitstore.errors import Broken
from gitstore.git.packs.new_pack import COMMIT
from gitstore.git.raw_tree import FOLDER, Unreadable, compare, find_entries
from gitstore.wire.packs.commit_graph import CommitGraph
from gitstore.wire.packs.id_lists import Contents, IdList
from gitstore.wire.packs.object_source import ObjectSource

_COMMIT = re.compile(rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)")
_PARENT = re.compile(rb"parent ([0-9a-f]{40})\n")
_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
_FOLDERS = frozenset({FOLDER, b"040000"})
_SUBMODULE = b"160000"
_LARGE = 2_000  # bytes of a folder that is compared with its next version; a smaller one is read entry by entry


def list_history(source: ObjectSource, commits: Iterable[bytes]) -> dict[bytes, None]:
    """List all objects that commits reach. Raises Broken."""
    walk = _Walk(source)
    walk.visit_commits(commits)
    return walk.seen


def list_packed_history(source: ObjectSource, graph: CommitGraph, starts: Iterable[bytes]) -> IdList | None:
    """List what the packed ones among some commits and their ancestors reach; None if none is packed.

    The newest commits have files of their own until they are packed: what they add has to be found by itself.
    """
    source.index_all()
    ahead, packed, seen = list(starts), set[bytes](), set[bytes]()
    while ahead:
        commit = ahead.pop()
        if source.place(commit):
            packed.add(commit)
        elif commit not in seen:
            seen.add(commit)
            ahead += graph.parents(commit)
    return IdList(Contents("", frozenset(packed)), list_history(source, packed)) if packed else None


class _Walk:
    def __init__(self, source: ObjectSource) -> None:
        self._source = source
        self.seen: dict[bytes, None] = {}

    def visit_commits(self, commits: Iterable[bytes]) -> None:
        """Visit commits and their ancestors; the folder of each commit is compared with that of a child."""
        seen, read = self.seen, self._source.read_once
        ahead = [(commit, b"") for commit in commits]
        while ahead:
            commit, later = ahead.pop()
            if commit in seen:
                continue
            seen[commit] = None
            kind, data = read(commit)
            found = _COMMIT.match(data) if kind == COMMIT else None
            if found is None:
                raise Broken(f"The repository is damaged: {commit.hex()} is no commit.")
            tree = unhexlify(found[1])
            if tree not in seen:
                self._visit_folders(tree, later)
            parents = map(unhexlify, _PARENT.findall(found[2]))
            ahead += [(object_id, tree) for object_id in parents if object_id not in seen]

    def _visit_folders(self, tree: bytes, later: bytes) -> None:
        """Visit a folder and all below it; `later` is a version of it that was seen, if there is one."""
        seen, read = self.seen, self._source.read
        ahead: list[tuple[bytes, tuple[bytes, ...]]] = [(tree, ())]
        while ahead:
            folder, path = ahead.pop()
            seen[folder] = None
            data = read(folder)[1]
            known = self._find_folder(later, path) if len(data) > _LARGE else b""
            for mode, name, object_id in _list_changed(known, data):
                if object_id in seen or mode == _SUBMODULE:
                    continue
                if mode in _FOLDERS:
                    ahead.append((object_id, (*path, name)))
                else:
                    seen[object_id] = None

    def _find_folder(self, root: bytes, path: tuple[bytes, ...]) -> bytes:
        """Return the bytes of the folder at a path below another one; empty if there is none."""
        for name in path:
            if root:
                found = find_entries(self._source.read(root)[1], name)
                root = next((entry.id for entry in found if entry.mode in _FOLDERS), b"")
        return self._source.read(root)[1] if root else b""


def _list_changed(known: bytes, data: bytes) -> list[tuple[bytes, bytes, bytes]]:
    """List the entries of a folder that may not be in the known one: mode, name and id."""
    if known:
        with suppress(Unreadable):
            return [(each.mode, each.name, each.id) for each in compare(known, data)[1]]
    return _ENTRY.findall(data)
