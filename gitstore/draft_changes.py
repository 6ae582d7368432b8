"""What a draft does to the records of one kind, by id, told from compiled parts without building a record."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from content.diff import ChangeType
from content.vocabulary import Kind
from gitstore.changes import files_apart
from gitstore.columns import Flags, flags_where
from gitstore.layout import BlobId
from gitstore.recent import Recent
from gitstore.snapshot import RuleFile, Snapshot

_PAIRS_AT_HAND = 500
"""Files of drafts of which it is kept what differs from their base: 50 kB each at most, where all 500 rules do."""


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
    pairs = list(_pairs(before, after))
    gone, new = (
        frozenset[int]().union(*numbers) for numbers in ([pair.gone for pair in pairs], [pair.new for pair in pairs])
    )
    unlike = frozenset[int]().union(*(pair.unlike for pair in pairs))
    elsewhere = before.held(new)  # in another file than before, or in a second one
    by_id = {
        **dict.fromkeys(gone - new, ChangeType.REMOVED),
        **dict.fromkeys(new - elsewhere, ChangeType.ADDED),
        **dict.fromkeys((unlike - elsewhere) | _differing(before, after, elsewhere), ChangeType.CHANGED),
    }
    return DraftChanges(by_id, list(before.flagged(gone - new)))


class _Pair(NamedTuple):
    """A file before and after, by the ids of its records: those it has no more, those it has now, those that differ."""

    gone: frozenset[int]
    new: frozenset[int]
    unlike: frozenset[int]


_compared: Recent[tuple[BlobId, BlobId], _Pair] = Recent(_PAIRS_AT_HAND)


class _Side:
    """The files of one state that the other does not have just so."""

    def __init__(self, snapshot: Snapshot | None, files: Sequence[RuleFile]) -> None:
        self._snapshot = snapshot
        self.files = {file.path: file for file in files}

    def held(self, ids: frozenset[int]) -> frozenset[int]:
        """Those of the ids that stand in a file."""
        return frozenset().union(*(ids & file.part.id_set for file in self.files.values())) if ids else ids

    def flagged(self, ids: frozenset[int]) -> Iterator[tuple[RuleFile, Flags]]:
        """The files that have some of these records, with flags for those."""
        for file in self.files.values():
            if not ids.isdisjoint(file.part.id_set):
                yield file, flags_where(ids.__contains__, file.part.ids)

    def prints(self, file: RuleFile) -> dict[int, int]:
        """The print of every record of a file, by id."""
        found: Sequence[int] = file.part.prints
        if _names_bodies(file):
            found = [hash((each, self._body(file, place))) for place, each in enumerate(found)]
        return dict(zip(file.part.ids, found, strict=True))

    def contents(self, ids: frozenset[int]) -> dict[int, tuple[object, ...]]:
        """Everything that a person may change of the records with these ids."""
        return {
            number: self._content(file, place)
            for file in self.files.values()
            if not ids.isdisjoint(file.part.id_set)
            for place, number in enumerate(file.part.ids)
            if number in ids
        }

    def _content(self, file: RuleFile, place: int) -> tuple[object, ...]:
        part = file.part
        item = part.items[part.offsets[place] : part.offsets[place + 1]]
        extra = part.extras.get(place)
        return item, extra, self._body(file, place) if extra else ""

    def _body(self, file: RuleFile, place: int) -> str:
        return (self._snapshot.body_of(file, place) or "") if self._snapshot else ""


def _pairs(before: _Side, after: _Side) -> Iterator[_Pair]:
    """Every file that differs, beside what it was; what two blobs differ in is kept, since an edit changes one file of many."""
    nothing = frozenset[int]()
    for path, new in after.files.items():
        old = before.files.get(path)
        if old is None:
            yield _Pair(nothing, new.part.id_set, nothing)
        elif _names_bodies(old) or _names_bodies(new):
            yield _compare(before.prints(old), after.prints(new))
        else:
            yield _compared.get((old.blob, new.blob), partial(_compare_parts, before, old, after, new))
    for path, old in before.files.items():
        if path not in after.files:
            yield _Pair(old.part.id_set, nothing, nothing)


def _compare_parts(before: _Side, old: RuleFile, after: _Side, new: RuleFile) -> _Pair:
    return _compare(before.prints(old), after.prints(new))


def _compare(old: Mapping[int, int], new: Mapping[int, int]) -> _Pair:
    unlike = frozenset(number for number, found in new.items() if old.get(number, found) != found)
    return _Pair(frozenset(old.keys() - new.keys()), frozenset(new.keys() - old.keys()), unlike)


def _names_bodies(file: RuleFile) -> bool:
    """Tell whether records leave their content to other files, so that the blob does not say everything."""
    return file.part.kind is Kind.PAGES and any("file" in extra for extra in file.part.extras.values())


def _differing(before: _Side, after: _Side, ids: frozenset[int]) -> frozenset[int]:
    """Those of the ids whose records have not the same content on both sides."""
    if not ids:
        return ids
    old, new = before.contents(ids), after.contents(ids)
    return frozenset(number for number, content in new.items() if content != old[number])
