"""Connectivity: every object that a push needs is in the push, or in the repository with everything below it."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from heapq import heappop, heappush

from gitstore.errors import Broken, InvalidPush
from gitstore.git.packs.new_pack import BLOB, COMMIT, TAG, TREE, TYPES
from gitstore.git.raw_tree import Unreadable, compare
from gitstore.git.refs import list_refs
from gitstore.git.repository import Repository
from gitstore.layout import CommitId, TreeId
from gitstore.wire.push.object_rules import Reference
from gitstore.wire.push.references import require_kind

COMMITS = frozenset({COMMIT})
ANY_KIND = frozenset({COMMIT, TREE, BLOB, TAG})
_FOLDERS = frozenset({b"40000", b"040000"})
_NAMED = re.compile(rb"^(tree|parent) ([0-9a-f]{40})\n", re.MULTILINE)
_TAGGED = re.compile(rb"object ([0-9a-f]{40})\ntype (commit|tree|blob|tag)\n")
_SUBMODULE = b"160000"
_CLOCK_ERROR = 86_400  # seconds by which the clocks of committers may differ


class Connectivity:
    """The check of one push. `received` has the types of the new objects by id; the repository sees them too."""

    def __init__(self, repository: Repository, received: dict[bytes, int]) -> None:
        self._repository = repository
        self._received = received
        self._complete = dict[bytes, int]()  # types of the repository's objects that have everything below them
        self._reached: _Reached | None = None

    def require(self, outside: Callable[[], Iterable[Reference]]) -> None:
        """Raise InvalidPush unless all these objects are in the repository, each with everything below it.

        `outside` is called twice, since they may be too many to keep.
        """
        for reference in outside():
            if reference.kind == COMMIT:
                self._require_commit(reference)
        self._learn_trees()
        for reference in outside():
            self._require_complete(reference)

    def require_tip(self, commit: CommitId, kinds: frozenset[int]) -> None:
        """Raise InvalidPush unless a ref may move to this object."""
        object_id = bytes.fromhex(commit)
        found = self._received.get(object_id)
        if found is None:
            found = self._kind(object_id)
            self._require_complete(Reference(found, object_id))
        if found not in kinds:
            raise InvalidPush("a branch needs a commit")

    def _require_commit(self, reference: Reference) -> None:
        """Check a commit that is not in the push: reached by a ref, or complete by itself."""
        if self._is_complete(reference):
            return
        self._reached = self._reached or _Reached(self._repository)
        if self._reached.has(CommitId(reference.id.hex())):
            self._complete[reference.id] = COMMIT
        else:
            self._walk(reference)

    def _is_complete(self, reference: Reference) -> bool:
        """Tell whether an object is known to be complete. Raises InvalidPush if it is of another type."""
        found = self._complete.get(reference.id)
        if found is not None:
            require_kind(reference.id, reference.kind, found)
        return found is not None

    def _require_complete(self, reference: Reference) -> None:
        if self._is_complete(reference):
            return
        if reference.kind == COMMIT:
            self._require_commit(reference)
        else:
            self._walk(reference)

    def _walk(self, start: Reference) -> None:
        """Look at everything below an object of the repository that no ref is known to reach."""
        ahead, seen = [start], dict[bytes, int]()
        while ahead:
            kind, object_id = ahead.pop()
            if object_id in self._complete or object_id in seen:
                require_kind(object_id, kind, self._complete.get(object_id) or seen[object_id])
                continue
            if kind == COMMIT and object_id != start.id:
                self._reached = self._reached or _Reached(self._repository)
                if self._reached.has(CommitId(object_id.hex())):
                    self._complete[object_id] = COMMIT
                    continue
            seen[object_id] = kind
            if kind == BLOB and object_id != start.id:  # its type is that of a folder which was checked once
                if not self._repository.has(object_id.hex()):
                    raise _missing(object_id)
                continue
            found, data = self._read(object_id)
            require_kind(object_id, kind, found)
            ahead += _list_references(found, data)
        self._complete |= seen

    def _read(self, object_id: bytes) -> tuple[int, bytes]:
        try:
            return self._repository.raw(object_id.hex())
        except Broken as ex:
            raise _missing(object_id) from ex

    def _kind(self, object_id: bytes) -> int:
        return self._read(object_id)[0]

    def _learn_trees(self) -> None:
        """Note what the folders have that new commits change: most of it is as it was before."""
        for object_id, kind in self._received.items():
            if kind == COMMIT:
                info = self._repository.commit(CommitId(object_id.hex()))
                for parent in info.parents:
                    if bytes.fromhex(parent) not in self._received:
                        self._learn(self._repository.commit(parent).tree, info.tree)

    def _learn(self, old: TreeId, new: TreeId) -> None:
        ahead = [(bytes.fromhex(old), bytes.fromhex(new))]
        while ahead:
            before, after = ahead.pop()
            self._complete[before] = TREE
            if before == after or after not in self._received:
                continue
            data = self._read(before)[1], self._read(after)[1]
            self._complete.update({reference.id: reference.kind for reference in _list_references(TREE, data[0])})
            with suppress(Unreadable):
                olds, news = compare(*data)
                below = {entry.name: entry.id for entry in olds if entry.mode in _FOLDERS}
                ahead += [
                    (below[entry.name], entry.id) for entry in news if entry.name in below and entry.mode in _FOLDERS
                ]


class _Reached:
    """The commits that refs reach, found as far back as a look needs them."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._seen = set[CommitId]()
        self._ahead = list[tuple[int, CommitId]]()
        for tip in set(list_refs(repository.path, is_lenient=True).values()):
            self._add(tip)

    def has(self, commit: CommitId) -> bool:
        """Tell whether a ref reaches a commit; False also for one whose time is after that of its children by a day."""
        if commit in self._seen:
            return True
        try:
            oldest = self._repository.commit(commit).time - _CLOCK_ERROR
        except Broken as ex:
            raise _missing(bytes.fromhex(commit)) from ex
        while self._ahead and -self._ahead[0][0] >= oldest and commit not in self._seen:
            _, each = heappop(self._ahead)
            for parent in self._repository.commit(each).parents:
                self._add(parent)
        return commit in self._seen

    def _add(self, commit: CommitId) -> None:
        if commit not in self._seen:
            with suppress(Broken):  # a tag, or a damaged ref
                heappush(self._ahead, (-self._repository.commit(commit).time, commit))
                self._seen.add(commit)


def list_new(repository: Repository, received: dict[bytes, int], tips: Iterable[CommitId]) -> Iterator[bytes]:
    """Yield the new objects that these commits or tags need."""
    ahead, seen = [bytes.fromhex(tip) for tip in tips], set[bytes]()
    while ahead:
        object_id = ahead.pop()
        kind = received.get(object_id)
        if kind is None or object_id in seen:
            continue
        seen.add(object_id)
        yield object_id
        if kind != BLOB:
            ahead += [reference.id for reference in _list_references(*repository.raw(object_id.hex()))]


def _list_references(kind: int, data: bytes) -> list[Reference]:
    """List what an object names, also one of the repository that is not as strict as a new one."""
    if kind == TREE:
        with suppress(Unreadable):
            entries = [entry for entry in compare(b"", data)[1] if entry.mode != _SUBMODULE]
            return [Reference(TREE if entry.mode in _FOLDERS else BLOB, entry.id) for entry in entries]
        return []
    head = data.partition(b"\n\n")[0] + b"\n"
    if kind == TAG:
        found = _TAGGED.match(head)
        return [Reference(TYPES[found[2]], bytes.fromhex(found[1].decode()))] if found else []
    named = _NAMED.finditer(head) if kind == COMMIT else ()
    return [Reference(TREE if found[1] == b"tree" else COMMIT, bytes.fromhex(found[2].decode())) for found in named]


def _missing(object_id: bytes) -> InvalidPush:
    return InvalidPush(f"the object {object_id.hex()} is missing, which the push needs; fetch, then push again")
