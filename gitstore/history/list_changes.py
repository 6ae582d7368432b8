"""The changes of a project's lists between two versions, as agents apply them: from the files that differ.

An added or changed record has its index in the new list, a removed one its index in the old list. Files that both
versions have are not read: their lengths are in the compiled release of the new version.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from content.changes.alignment import align
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.encoded_file import EncodedFile, encode_file
from gitstore.compiled.segments.snapshot import File, Snapshot
from gitstore.errors import Broken, Invalid, NotFound, VersionTooOld
from gitstore.history.history import version_index
from gitstore.layout import ROLE_OF_KIND, CommitId, FileRole, TreeId, role_of

# A change: its index, and the JSON of the record.
Indexed = tuple[int, bytes]
_RULES = frozenset(ROLE_OF_KIND.values())


class ListChanges(NamedTuple):
    """The changes of one list, each part in the order of its indexes."""

    added: list[Indexed]
    changed: list[Indexed]
    removed: list[Indexed]

    def dump(self) -> bytes:
        """Return the changes as JSON."""
        parts = (b'"%b":[%b]' % (name.encode(), _dump(part)) for name, part in self._asdict().items())
        return b"{%b}" % b",".join(parts)


def _dump(part: Sequence[Indexed]) -> bytes:
    return b",".join(b'{"index":%d,"item":%b}' % each for each in part)


class VersionChanges(NamedTuple):
    """The versions of a difference, and the changes of each list as JSON."""

    old: CommitId
    new: CommitId
    lists: Mapping[Kind, bytes]


def read_changes(compiler: Compiler, project: str, old: str, new: str) -> VersionChanges:
    """Return the changes from one version to another, each named by its publish number or SHA.

    Raises VersionTooOld if the changes since `old` are not known, and NotFound if `new` has no lists.
    """
    index = version_index(compiler, project)
    after = index.resolve(new)
    if after.tree is None:
        raise NotFound(f"Publish {after.number} removed the project; it has no lists.")
    counts = compiler.file_counts(project, after.tree)
    with _known_version(old):
        before = index.resolve(old)
        if before.tree is None or before.refused:
            raise NotFound(f"No agent ever got publish {before.number}.")
        found = _changes_of_trees(compiler, project, (before.tree, after.tree), counts)
    return VersionChanges(before.commit, after.commit, {kind: found[kind].dump() for kind in Kind})


@contextmanager
def _known_version(word: str) -> Iterator[None]:
    """Raise VersionTooOld in place of the errors that a version or its files cannot be found, or read."""
    try:
        yield
    except (NotFound, Invalid, Broken) as ex:
        raise VersionTooOld(
            f"The changes since version {word} are not known. Fetch the lists as a whole, then continue from their version."
        ) from ex


def _changes_of_trees(
    compiler: Compiler, project: str, trees: tuple[TreeId, TreeId], counts: Mapping[Kind, Mapping[str, int]]
) -> Mapping[Kind, ListChanges]:
    files = [compiler.list_files(tree) for tree in trees]
    sides = [
        compiler.snapshot_files(project, files_to_read(one, frozenset(other))) for one, other in (files, files[::-1])
    ]
    return {kind: compare_lists(kind, counts[kind], *sides) for kind in Kind}


def files_to_read(files: Sequence[File], others: frozenset[File]) -> list[File]:
    """Select the rule files that the other version does not have; if a file of content differs, all files of pages too.

    The files of content are listed with them, since pages may name any of them; only those that are named are read.
    """
    contents = [file for file in files if role_of(file.path) is FileRole.CONTENT]
    differ = not others.issuperset(contents) or any(
        role_of(file.path) is FileRole.CONTENT for file in others.difference(files)
    )
    rules = [
        file
        for file in files
        if role_of(file.path) in _RULES and (file not in others or (differ and role_of(file.path) is FileRole.PAGES))
    ]
    return [*rules, *contents] if any(role_of(file.path) is FileRole.PAGES for file in rules) else rules


def compare_lists(kind: Kind, counts: Mapping[str, int], old: Snapshot, new: Snapshot) -> ListChanges:
    """Compare a list of two states, of which only the files to compare are given.

    `counts` has the number of records of every file of the new state, by path. A file that is in neither snapshot is
    the same in both states.
    """
    before, after = ({file.path: encode_file(side, file) for file in side.rule_files[kind]} for side in (old, new))
    changes = ListChanges([], [], [])
    stretch = _Stretch(0, 0)
    for path in sorted({*counts, *before}):
        if path in before or path in after:
            stretch.add(before.get(path), after.get(path))
        elif counts[path]:
            stretch.compare(changes)
            stretch = _Stretch(stretch.old_end + counts[path], stretch.new_end + counts[path])
    stretch.compare(changes)
    return changes


class _Records(NamedTuple):
    """The records of some files that follow each other: ids, and the JSON of each with a comma after it."""

    ids: list[int]
    items: list[memoryview]

    def add(self, file: EncodedFile | None) -> None:
        if file is not None:
            data = memoryview(file.items.data)
            self.ids.extend(file.segment.ids)
            self.items.extend(data[begin:end] for begin, end in pairwise(file.offsets))


@dataclass(slots=True)
class _Stretch:
    """Files to compare, one after the other, between two that are the same in both states."""

    old_start: int
    new_start: int
    old: _Records = field(default_factory=lambda: _Records([], []))
    new: _Records = field(default_factory=lambda: _Records([], []))

    @property
    def old_end(self) -> int:
        return self.old_start + len(self.old.ids)

    @property
    def new_end(self) -> int:
        return self.new_start + len(self.new.ids)

    def add(self, before: EncodedFile | None, after: EncodedFile | None) -> None:
        self.old.add(before)
        self.new.add(after)

    def compare(self, changes: ListChanges) -> None:
        """Add the changes of these files."""
        found = align(self.old.ids, self.new.ids)
        old, new = self.old.items, self.new.items
        changes.removed.extend((self.old_start + at, bytes(old[at][:-1])) for at in found.removed)
        changes.added.extend((self.new_start + at, bytes(new[at][:-1])) for at in found.added)
        changes.changed.extend(
            (self.new_start + after, bytes(new[after][:-1]))
            for before, after in found.kept
            if old[before] != new[after]
        )
