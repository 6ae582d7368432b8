"""A walk through the objects that refs reach: each one is marked, and what is missing or damaged is reported with its path.

A folder is compared with the last one at its path, so the walk costs what the versions of a file changed, not their size.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from content.cache import LruCache
from gitstore.git.packs.new_pack import BLOB, COMMIT, TAG, TREE, DamagedObject
from gitstore.git.packs.stored_objects import Marks, Place, StoredObjects
from gitstore.git.raw_tree import FOLDER, Unreadable, compare

_SUBMODULE = b"160000"
_CACHED_BYTES = 8 << 20
_NAMES = re.compile(rb"^(tree|parent|object) ([0-9a-f]{40})$", re.MULTILINE)
_TAGGED = re.compile(rb"^type (commit|tree|blob|tag)$", re.MULTILINE)
_KINDS = {b"tree": TREE, b"parent": COMMIT, b"commit": COMMIT, b"blob": BLOB, b"tag": TAG}
KIND_NAMES = {COMMIT: "commit", TREE: "tree", BLOB: "blob", TAG: "tag"}
REACHED = 1
DAMAGED = 7


class Step(NamedTuple):
    """An object that another one names: its id, the kind that it should have (0: any), and how it was reached."""

    id: bytes
    kind: int
    ref: str
    commit: bytes
    path: str

    def describe(self) -> str:
        """Describe the place of the object in the history."""
        if not self.path:
            return f"named by {self.ref}" if not self.commit else f"in the history of {self.ref}"
        return f"{self.path.removesuffix('/') or 'the top folder'} in commit {self.commit.hex()[:12]} of {self.ref}"


class Loss(NamedTuple):
    """An object that is reached, but cannot be read."""

    step: Step
    reason: str


def mark_reached(
    objects: StoredObjects, roots: Mapping[str, str], report: Callable[[Loss], None], kinds: Marks | None = None
) -> Marks:
    """Mark every object that roots (by ref) reach, and report what is lost; contents of files are only looked up.

    `kinds` has the kinds of all objects, or DAMAGED, where all of them were read.
    """
    marks = Marks(objects)
    walk = _Walk(objects, marks, report, kinds or Marks(objects))
    for ref, root in roots.items():
        walk.follow(Step(bytes.fromhex(root), 0, ref, b"", ""))
    return marks


class _Walk:
    def __init__(self, objects: StoredObjects, marks: Marks, report: Callable[[Loss], None], kinds: Marks) -> None:
        self._objects = objects
        self._marks = marks
        self._report = report
        self._kinds = kinds
        self._folders: LruCache[str, bytes] = LruCache(_CACHED_BYTES, weigh=lambda data: len(data) + 200)
        self._lost: set[bytes] = set()

    def follow(self, root: Step) -> None:
        """Mark what a root reaches."""
        ahead = [root]
        while ahead:
            step = ahead.pop()
            place = self._objects.find(step.id)
            if place is None:
                self._lose(step, "is missing")
            elif not self._marks.get(step.id, place):
                self._marks.set(step.id, place, REACHED)
                ahead.extend(self._visit(step, place))

    def _visit(self, step: Step, place: Place) -> list[Step]:
        kind, data = self._kinds.get(step.id, place), b""
        if step.kind != BLOB and kind != DAMAGED:
            try:
                kind, data = self._objects.read(step.id, place)
            except (DamagedObject, OSError):
                kind = DAMAGED
        if kind == DAMAGED:
            self._lose(step, "is damaged")
        elif step.kind not in {0, kind} and kind:
            self._lose(step, f"is a {KIND_NAMES[kind]}, not a {KIND_NAMES[step.kind]}")
        else:
            try:
                return list(self._children(step, kind, data))
            except Unreadable:
                self._lose(step, "is a folder that cannot be parsed")
        return []

    def _lose(self, step: Step, reason: str) -> None:
        if step.id not in self._lost:
            self._lost.add(step.id)
            self._report(Loss(step, reason))

    def _children(self, step: Step, kind: int, data: bytes) -> Iterator[Step]:
        """Yield what an object names, the folder of a commit last, so that it is followed first."""
        if kind == TREE:
            yield from self._entries(step, data)
        elif kind == COMMIT:
            named = [(found[1], bytes.fromhex(found[2].decode())) for found in _NAMES.finditer(_head(data))]
            for word, object_id in reversed(named):
                if word == b"tree":
                    yield Step(object_id, TREE, step.ref, step.id, "/")
                else:
                    yield Step(object_id, COMMIT, step.ref, step.id, "")
        elif kind == TAG:
            head = _head(data)
            tagged = _TAGGED.search(head)
            for found in _NAMES.finditer(head):
                yield Step(bytes.fromhex(found[2].decode()), _KINDS[tagged[1]] if tagged else 0, step.ref, b"", "")

    def _entries(self, step: Step, data: bytes) -> Iterator[Step]:
        before = self._folders.find(step.path) or b""
        _, entries = compare(before, data)
        self._folders.put(step.path, data)
        for entry in entries:
            if entry.mode != _SUBMODULE:
                is_folder = entry.mode == FOLDER
                path = f"{step.path.removeprefix('/')}{entry.name.decode(errors='replace')}{'/' if is_folder else ''}"
                yield Step(entry.id, TREE if is_folder else BLOB, step.ref, step.commit, path)


def _head(data: bytes) -> bytes:
    return data.partition(b"\n\n")[0]
