"""What a draft does to the records of one kind, by id, told from compiled parts without building a record."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from content.diff import ChangeType
from content.vocabulary import Kind
from gitstore.changes import files_apart
from gitstore.columns import Flags, flags_where
from gitstore.snapshot import RuleFile, Snapshot


@dataclass(frozen=True, slots=True)
class DraftChanges:
    """What happened to records by id, as a number; and the files of the base that have lost some, with flags for those."""

    by_id: Mapping[int, ChangeType]
    lost: Sequence[tuple[RuleFile, Flags]]

    @property
    def removed(self) -> int:
        """How many records the draft removes."""
        return sum(flags.count(1) for _, flags in self.lost)


def draft_changes(kind: Kind, base: Snapshot | None, working: Snapshot) -> DraftChanges:
    """What leads from the base to the working state; without a base everything is new."""
    before = _Side(base, files_apart(kind, base, working) if base else [])
    after = _Side(working, files_apart(kind, working, base))
    gone = before.ids - after.ids
    by_id = {
        **dict.fromkeys(gone, ChangeType.REMOVED),
        **dict.fromkeys(after.ids - before.ids, ChangeType.ADDED),
        **dict.fromkeys(_differing(before, after), ChangeType.CHANGED),
    }
    return DraftChanges(by_id, list(before.flagged(gone)))


class _Side:
    """The files of one state that the other does not have just so."""

    def __init__(self, snapshot: Snapshot | None, files: Sequence[RuleFile]) -> None:
        self._snapshot = snapshot
        self._files = files
        self.ids: frozenset[int] = frozenset().union(*(file.part.id_set for file in files))

    def flagged(self, ids: frozenset[int]) -> Iterator[tuple[RuleFile, Flags]]:
        for file in self._files:
            if not ids.isdisjoint(file.part.id_set):
                yield file, flags_where(ids.__contains__, file.part.ids)

    def contents(self, ids: frozenset[int]) -> dict[int, tuple[object, ...]]:
        """Everything that a person may change of the records with these ids."""
        return {
            number: self._content(file, place)
            for file in self._files
            if not ids.isdisjoint(file.part.id_set)
            for place, number in enumerate(file.part.ids)
            if number in ids
        }

    def _content(self, file: RuleFile, place: int) -> tuple[object, ...]:
        part = file.part
        item = part.items[part.offsets[place] : part.offsets[place + 1]]
        extra = part.extras.get(place)
        body = (self._snapshot.body_of(file, place) or "") if extra and self._snapshot else ""
        return item, extra, body


def _differing(before: _Side, after: _Side) -> list[int]:
    common = before.ids & after.ids
    old, new = before.contents(common), after.contents(common)
    return [number for number, content in new.items() if content != old[number]]
