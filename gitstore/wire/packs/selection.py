"""The objects that a pack has to hold: those of some commits that no parent of theirs has at the same path.

A parent is either in the pack too, or at the client with all that it reaches.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from gitstore.git.packs.new_pack import TREE
from gitstore.git.raw_tree import Unreadable, compare, find_entries
from gitstore.wire.packs.commit_graph import CommitGraph, Parents
from gitstore.wire.packs.object_source import ObjectSource

_ENTRY = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
_FOLDERS, _SUBMODULE = frozenset({b"40000", b"040000"}), b"160000"
_SMALL = 2_000  # bytes of a folder that is compared entry by entry; a larger one by its bytes
_Entry = tuple[bytes, bytes, bytes]
"""The mode, name and id of an entry."""


class ObjectFilter(NamedTuple):
    """The objects that a partial clone leaves out: blobs of this size and above, and what is this deep below a root folder."""

    blob_bytes: int | None = None
    depth: int | None = None


_EVERYTHING = ObjectFilter()


class _Folder(NamedTuple):
    """A folder to be visited, with the folders at the same path that need not be sent."""

    id: bytes
    known: tuple[bytes, ...]
    depth: int


class Selection:
    """The objects of a pack, in the order in which they were found, and an earlier version of some at the same path."""

    def __init__(
        self,
        source: ObjectSource,
        chosen: ObjectFilter = _EVERYTHING,
        is_held: Callable[[bytes], bool] = lambda _: False,
    ) -> None:
        """Select from a source what passes a filter; objects that are held elsewhere are left out with all below them."""
        self._source = source
        self._filter = chosen
        self._is_held = is_held
        self._depths: dict[bytes, int] = {}
        self.ids: dict[bytes, None] = {}
        self.earlier: dict[bytes, bytes] = {}

    def add(self, object_id: bytes) -> None:
        """Add one object by itself."""
        if not self._is_held(object_id):
            self.ids[object_id] = None

    def add_commits(self, graph: CommitGraph, commits: Iterable[bytes], parents: Parents) -> None:
        """Add commits, and what each has beyond its parents.

        Those come first: a folder that was seen is then there with all below it. In another order, two commits that undo each
        other's changes could each count on the other for what they have in common.
        """
        for commit in graph.parents_first(list(commits), parents):
            self.add(commit)
            known = tuple(graph.node(parent).tree for parent in parents(commit))
            self._visit(_Folder(graph.node(commit).tree, known, 0))

    def add_tree(self, tree: bytes) -> None:
        """Add a folder with all below it."""
        self._visit(_Folder(tree, (), 0))

    def add_wanted(self, object_id: bytes) -> None:
        """Add a folder or file that the client names: itself whatever the filter says, and all below it that passes."""
        self.add(object_id)
        if self._source.kind(object_id) == TREE:
            for folder in self._visit_entries(_Folder(object_id, (), 0)):
                self._visit(folder)

    def _visit(self, folder: _Folder) -> None:
        ahead = [folder]
        while ahead:
            each = ahead.pop()
            if each.id in each.known or self._is_held(each.id) or self._depths.get(each.id, _DEEPEST) <= each.depth:
                continue
            self._depths[each.id] = each.depth
            if self._filter.depth is None or each.depth < self._filter.depth:
                self.ids[each.id] = None
                ahead.extend(self._visit_entries(each))

    def _visit_entries(self, folder: _Folder) -> list[_Folder]:
        """Add the files of a folder; return its folders, for the next steps."""
        data = self._source.read(folder.id)[1]
        known = [self._source.read(each)[1] for each in folder.known]
        if known:
            self.earlier.setdefault(folder.id, folder.known[0])
        folders = []
        for mode, name, object_id in _changed(data, known):
            same_path = [found for each in known for found in _named(each, name)]
            if any(found[2] == object_id for found in same_path) or mode == _SUBMODULE:
                continue
            is_folder = mode in _FOLDERS
            before = tuple(found[2] for found in same_path if (found[0] in _FOLDERS) == is_folder)
            if is_folder:
                folders.append(_Folder(object_id, before, folder.depth + 1))
            elif self._passes(object_id, folder.depth + 1):
                self.add(object_id)
                if before:
                    self.earlier.setdefault(object_id, before[0])
        return folders

    def _passes(self, blob: bytes, depth: int) -> bool:
        if self._filter.depth is not None and depth >= self._filter.depth:
            return False
        most = self._filter.blob_bytes
        return most is None or (most > 0 and self._source.size(blob) < most)


_DEEPEST = 1 << 30


def _changed(data: bytes, known: Sequence[bytes]) -> Iterator[_Entry]:
    """Yield the entries of a folder that may differ from those of the first known one."""
    if not known:
        yield from _ENTRY.findall(data)
    elif max(len(data), len(known[0])) < _SMALL:
        same = set(_ENTRY.findall(known[0]))
        yield from (entry for entry in _ENTRY.findall(data) if entry not in same)
    else:
        try:
            yield from ((entry.mode, entry.name, entry.id) for entry in compare(known[0], data)[1])
        except Unreadable:
            yield from _ENTRY.findall(data)


def _named(data: bytes, name: bytes) -> Iterator[_Entry]:
    """Yield the entries of a folder that have a name."""
    yield from ((entry.mode, entry.name, entry.id) for entry in find_entries(data, name))


def find_below(source: ObjectSource, trees: Iterable[bytes], goals: set[bytes]) -> set[bytes]:
    """Return those of the goals that are a folder or file in one of the trees."""
    missing, selection = set(goals), Selection(source)
    for tree in trees:
        if not missing:
            break
        selection.add_tree(tree)
        missing -= selection.ids.keys()
    return set(goals) - missing
