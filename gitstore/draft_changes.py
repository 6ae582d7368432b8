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

    @property
    def prints(self) -> frozenset[int]:
        """The prints of all records, by which those that the other side has just so are left aside at once."""
        return frozenset().union(*map(self._prints, self._files))

    def unlike(self, prints: frozenset[int]) -> frozenset[int]:
        """The ids of the records whose print is none of these."""
        return frozenset(
            number
            for file in self._files
            for number, found in zip(file.part.ids, self._prints(file), strict=True)
            if found not in prints
        )

    def _prints(self, file: RuleFile) -> Sequence[int]:
        bodies = {place: self._body(file, place) for place, extra in file.part.extras.items() if "file" in extra}
        if not bodies:
            return file.part.prints
        return [hash((found, bodies.get(place))) for place, found in enumerate(file.part.prints)]

    def _body(self, file: RuleFile, place: int) -> str:
        return (self._snapshot.body_of(file, place) or "") if self._snapshot else ""

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
        return item, extra, self._body(file, place) if extra else ""


def _differing(before: _Side, after: _Side) -> list[int]:
    common = before.ids & after.unlike(before.prints)
    old, new = before.contents(common), after.contents(common)
    return [number for number, content in new.items() if content != old[number]]
