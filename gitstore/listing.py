"""Listing the working state of a draft: each record with what the draft did to it, filtered, sorted, in windows."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from hashlib import sha256
from itertools import compress, islice
from typing import NamedTuple

import orjson

from content.diff import ChangeType
from content.record import Placed, Record
from content.vocabulary import Kind
from gitstore.columns import Columns, Flags, both, flags_where
from gitstore.draft_changes import DraftChanges
from gitstore.edits import etag_of
from gitstore.errors import BadRequest
from gitstore.ranking import rank_window
from gitstore.snapshot import RuleFile, Snapshot

_UNTOUCHED = "none"
_SHAPE = "1"
"""Part of every window's etag: raise it when an item gets other fields."""
SORTS = ("file", "source", "target", "-source", "-target")


@dataclass(frozen=True, slots=True)
class Item:
    """A record in a draft; `change` is None where the draft leaves it as release has it."""

    placed: Placed[Record]
    change: ChangeType | None

    @property
    def etag(self) -> str:
        """What changes whenever a field of the record does."""
        return etag_of(self.placed.record)


@dataclass(frozen=True, slots=True)
class Query:
    """What to list: `text` in source, target or note (any case), exact `type`, `status`, `tag`; `change` (or `none`); and the order."""

    text: str = ""
    type: str = ""
    status: str = ""
    tag: str = ""
    change: str = ""
    sort: str = "file"


class Span(NamedTuple):
    """The part of a list that is asked for: at most `limit` items after `offset` items."""

    offset: int
    limit: int


class Listed(NamedTuple):
    """A window of what a query asks for: its items, how many there are in all, and what changes whenever any of it may."""

    items: Sequence[Item]
    total: int
    etag: str


@dataclass(frozen=True, slots=True)
class Draft:
    """The records of one kind in a draft: what they were, what they are, and what the draft did to them."""

    kind: Kind
    base: Snapshot | None
    working: Snapshot
    changes: DraftChanges

    def window_etag(self, query: Query, span: Span) -> str:
        """What differs between any two windows that do."""
        trees = self.base.tree if self.base else "", self.working.tree
        asked = [_SHAPE, self.working.project, self.kind, *trees, *astuple(query), *span]
        return sha256(orjson.dumps(asked)).hexdigest()[:32]


def list_items(draft: Draft, query: Query, span: Span) -> Listed:
    """A window of the records that the query asks for; in file order the removed ones are last."""
    if query.sort not in SORTS:
        raise BadRequest(f"'sort' must be one of {', '.join(SORTS)}.")
    shelves = [shelf for shelf in _shelves(draft, query) if shelf.count]
    total = sum(shelf.count for shelf in shelves)
    end = min(span.offset + span.limit, total)
    found = _in_file_order if query.sort == "file" else partial(_sorted, query.sort)
    return Listed(list(found(shelves, span.offset, end)), total, draft.window_etag(query, span))


def find_item(draft: Draft, record_id: str) -> Item | None:
    """One record of the draft; None where the draft has none of that id."""
    placed = draft.working.find(draft.kind, record_id)
    return Item(placed, draft.changes.by_id.get(int(record_id, 16))) if placed else None


class _Shelf:
    """A file with the records that are wanted of it (None: all); of the base where those are removed ones."""

    def __init__(
        self, draft: Draft, file: RuleFile, before: int, wanted: Flags | None, *, removed: bool = False
    ) -> None:
        self._draft = draft
        self._removed = removed
        self._before = before
        self.file = file
        self.wanted = wanted
        self.count = len(file.part) if wanted is None else wanted.count(1)

    def places(self) -> Iterator[int]:
        places = range(len(self.file.part))
        return iter(places) if self.wanted is None else compress(places, self.wanted)

    def item(self, place: int) -> Item:
        part = self.file.part
        snapshot = self._draft.base if self._removed and self._draft.base else self._draft.working
        record = snapshot.whole(self.file, part.record(place))
        if self._removed:
            return Item(Placed(record), ChangeType.REMOVED)
        placed: Placed[Record] = Placed(
            record, snapshot.full_path(self.file.path), part.lines[place], self._before + place
        )
        return Item(placed, self._draft.changes.by_id.get(part.ids[place]))


def _shelves(draft: Draft, query: Query) -> Iterator[_Shelf]:
    before = 0
    for file in draft.working.rule_files[draft.kind]:
        wanted = both(_wanted(file, query), _changed(file, query.change, draft.changes))
        yield _Shelf(draft, file, before, wanted)
        before += len(file.part)
    if query.change in {"", ChangeType.REMOVED}:
        for file, lost in draft.changes.lost:
            yield _Shelf(draft, file, 0, both(_wanted(file, query), lost), removed=True)


def _wanted(file: RuleFile, query: Query) -> Flags | None:
    if not (query.text or query.type or query.status or query.tag):
        return None
    columns: Columns = file.part.columns
    found = columns.holding(query.text.casefold()) if query.text else None
    found = both(found, columns.of_type(query.type) if query.type else None)
    found = both(found, columns.of_status(query.status) if query.status else None)
    return both(found, columns.tagged(query.tag) if query.tag else None)


def _changed(file: RuleFile, change: str, changes: DraftChanges) -> Flags | None:
    if not change:
        return None
    wanted = None if change == _UNTOUCHED else change
    if changes.by_id.keys().isdisjoint(file.part.id_set):
        return None if wanted is None else bytes(len(file.part))
    return flags_where(lambda number: changes.by_id.get(number) == wanted, file.part.ids)


def _in_file_order(shelves: Sequence[_Shelf], offset: int, end: int) -> Iterator[Item]:
    """Only the files that the window touches are read."""
    start = 0
    for shelf in shelves:
        if start + shelf.count > offset and start < end:
            yield from map(shelf.item, islice(shelf.places(), max(offset - start, 0), end - start))
        start += shelf.count


def _sorted(sort: str, shelves: Sequence[_Shelf], offset: int, end: int) -> list[Item]:
    """Like keys stay in file order both ways: a descending list is an ascending one, of all in reverse, from its end."""
    descends = sort.startswith("-")
    ordered = list(reversed(shelves)) if descends else shelves
    runs = [shelf.file.part.columns.wanted_run(sort, shelf.wanted) for shelf in ordered]
    total = sum(shelf.count for shelf in shelves)
    start, stop = (total - end, total - offset) if descends else (offset, end)
    found = rank_window([run.keys for run in runs], max(start, 0), stop - start)
    items = [ordered[number].item(runs[number].places[at]) for number, at in found]
    return items[::-1] if descends else items
