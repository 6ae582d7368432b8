"""The records that another draft or branch changes too."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from content.cache import LruCache
from content.changes.diff import ChangeType, change_type
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.changes import changes_between, files_only_in
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.drafts import Trees

States = tuple[Snapshot | None, Snapshot | None]  # the base of a draft or branch, and its working state
MOST_SHARED = 100  # drafts, or proposals, that are looked at
_CACHED_CHANGES = 100_000  # changed records in memory, some 150 bytes each
_MOST_COMPARED = 50_000  # rules of the files that differ: in more, the wanted ones are looked up each time


@dataclass(frozen=True, slots=True)
class SharedRecord:
    """A record that a draft or proposal changes."""

    kind: Kind
    id: str
    change: ChangeType


class ChangedRecords:
    """The changed records of the last pairs of trees, each compared once: what a tree has never changes."""

    def __init__(self) -> None:
        self._known: LruCache[Trees, Mapping[tuple[Kind, str], ChangeType]] = LruCache(
            _CACHED_CHANGES, lambda changed: 1 + len(changed)
        )

    def find(
        self, compiler: Compiler, project: str, trees: Trees, kinds: Collection[Kind], ids: Collection[str]
    ) -> list[SharedRecord]:
        """Return those of the records that differ between two trees of a project."""
        known = self._known.find(trees)
        if known is None:
            before, after = (compiler.snapshot(project, tree) if tree else None for tree in trees)
            if _count_compared(before, after) > _MOST_COMPARED:
                return list(find_changed((before, after), kinds, ids))
            every = changes_between(before, after)
            known = {(kind, each.id): each.change for kind in Kind for each in every[kind]}
            self._known.put(trees, known)
        wanted = ((kind, each) for kind in Kind if kind in kinds for each in ids)
        return [SharedRecord(*each, known[each]) for each in wanted if each in known]


def find_changed(states: States, kinds: Collection[Kind], ids: Collection[str]) -> Iterator[SharedRecord]:
    """Yield those of the records that differ between two states.

    Each is looked up by its id in both: that reads the files that have one, while opening a state reads those that differ
    from one in memory.
    """
    before, after = states
    for kind in (kind for kind in Kind if kind in kinds):
        for each in ids:
            old, new = (side.find_record(kind, each) if side else None for side in (before, after))
            if old != new:
                yield SharedRecord(kind, each, change_type(old, new))


def _count_compared(before: Snapshot | None, after: Snapshot | None) -> int:
    """Count the rules of the files that differ between two states."""
    sides = ((before, after), (after, before))
    return sum(
        len(file.segment) for kind in Kind for one, other in sides if one for file in files_only_in(kind, one, other)
    )
