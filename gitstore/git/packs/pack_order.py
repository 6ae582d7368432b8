"""The order of objects in a pack: the versions of each file and folder together, newest first.

So each object is written as a small delta of its neighbour, and the newest, which are read most, need none.
"""

import re
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from heapq import heapify, heappop, heappush

from dulwich.errors import FileFormatException
from dulwich.objects import parse_tree

from gitstore.git.modes import SUBMODULE_MODE
from gitstore.git.packs.new_pack import BLOB, COMMIT, TAG, TREE, DamagedObject, Read

_COMMIT = re.compile(rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)(?:.*\n)*?committer [^\n]*> ([0-9]{1,10}) ")
_PARENT = re.compile(rb"parent ([0-9a-f]{40})\n")
_NAMES = re.compile(rb"^(?:tree|parent|object) ([0-9a-f]{40})\n", re.MULTILINE)
_HASH_BYTES = 20


def group_versions(object_ids: Collection[bytes], read: Read) -> list[list[bytes]]:
    """Group objects for `write_pack`: commits, then other objects by path; each object is in one group."""
    commits: dict[bytes, bytes] = {}
    trees: dict[bytes, bytes] = {}
    others: list[bytes] = []
    for object_id in object_ids:
        kind, data = read(object_id)
        if kind == COMMIT:
            commits[object_id] = data
        elif kind == TREE:
            trees[object_id] = data
        else:
            others.append(object_id)
    ordered = list(_newest_first(commits))
    paths = _Paths(trees, set(others))
    for commit in ordered:
        paths.visit_root(commits[commit])
    paths.visit_rest()
    return [[commit] for commit in ordered] + paths.groups()


def list_children(kind: int, data: bytes) -> Iterator[tuple[bytes, bool]]:
    """Yield the ids that a commit, folder or tag names, and whether each may name others in turn: a file does not.

    Raises DamagedObject for a folder that cannot be parsed.
    """
    if kind == TREE:
        for _, mode, child in _parse(data):
            if mode != SUBMODULE_MODE:
                yield bytes.fromhex(child.decode()), stat.S_ISDIR(mode)
    elif kind in {COMMIT, TAG}:
        names = _NAMES.finditer(data.partition(b"\n\n")[0] + b"\n")
        yield from ((bytes.fromhex(found[1].decode()), True) for found in names)


class _Paths:
    """The objects below commits, in groups by a hash of their path."""

    def __init__(self, trees: Mapping[bytes, bytes], others: Collection[bytes]) -> None:
        self._trees = trees
        self._others = others
        self._left = {**dict.fromkeys(trees, TREE), **dict.fromkeys(others, BLOB)}
        self._groups: dict[tuple[int, int], list[bytes]] = {}

    def visit_root(self, commit: bytes) -> None:
        """Visit the folders of a commit that were not visited yet."""
        if found := _COMMIT.match(commit):
            self._visit(bytes.fromhex(found[1].decode()), 0)

    def visit_rest(self) -> None:
        """Visit the folders that no commit here has; then come the objects that no folder here has."""
        for tree in list(self._trees):
            self._visit(tree, 1)
        for other in sorted(self._left):
            self._groups[BLOB, hash(other)] = [other]

    def groups(self) -> list[list[bytes]]:
        """Return the groups: folders first, then files."""
        return [self._groups[key] for key in sorted(self._groups)]

    def _visit(self, top: bytes, at: int) -> None:
        ahead = [(top, at)]
        while ahead:
            object_id, path = ahead.pop()
            kind = self._left.pop(object_id, None)
            if kind is None:
                continue
            self._groups.setdefault((kind, path), []).append(object_id)
            if kind == TREE:
                with suppress(DamagedObject):  # only the order of what it names is lost
                    for name, _, child in _parse(self._trees[object_id]):
                        raw = bytes.fromhex(child.decode())
                        if raw in self._left:
                            ahead.append((raw, hash((path, name))))


def _newest_first(commits: Mapping[bytes, bytes]) -> Iterator[bytes]:
    """Yield commits so that each comes before its parents, the newest of those that may come next first."""
    parents = {commit: _parents(data) for commit, data in commits.items()}
    children = dict.fromkeys(commits, 0)
    for found in parents.values():
        for parent in found:
            if parent in children:
                children[parent] += 1
    ready = [(-_time(commits[each]), each) for each, count in children.items() if count == 0]
    heapify(ready)
    while ready:
        _, commit = heappop(ready)
        yield commit
        for parent in parents[commit]:
            if parent in children:
                children[parent] -= 1
                if children[parent] == 0:
                    heappush(ready, (-_time(commits[parent]), parent))


def _parse(tree: bytes) -> list[tuple[bytes, int, bytes]]:
    try:
        return list(parse_tree(tree, _HASH_BYTES))
    except (FileFormatException, ValueError, AssertionError) as ex:  # plain git accepts such a folder in a push
        raise DamagedObject("a folder") from ex


def _parents(commit: bytes) -> list[bytes]:
    found = _COMMIT.match(commit)
    return [bytes.fromhex(parent.decode()) for parent in _PARENT.findall(found[2])] if found else []


def _time(commit: bytes) -> int:
    found = _COMMIT.match(commit)
    return int(found[3]) if found else 0
