"""Lists of a draft's records, each with the draft's change of it: filtered, sorted, in windows."""

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import partial, reduce
from hashlib import sha256
from heapq import merge
from itertools import accumulate, compress, islice
from operator import itemgetter
from typing import NamedTuple, TypeVar

import orjson

from content.changes.diff import Change, ChangeType, Counts, count
from content.records.record import Placed, Record, identity_id
from content.records.vocabulary import Kind
from gitstore.compiled.segments.changes import changes_between
from gitstore.compiled.segments.columns import Columns, Flags, intersect_flags
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot
from gitstore.drafts.draft_changes import DraftChanges
from gitstore.drafts.editing.edits import etag_of
from gitstore.errors import BadRequest

Key = TypeVar("Key", str, bytes)
Cut = list[int]  # the number of keys before the cut in each run


def rank_window(runs: Sequence[Sequence[Key]], offset: int, limit: int) -> list[tuple[int, int]]:
    """Return at most `limit` keys from `offset`, in order, as run number and index; equal keys in the order of runs."""
    low, high = cut_at(runs, offset), cut_at(runs, offset + limit)
    found = [(number, place) for number in range(len(runs)) for place in range(low[number], high[number])]
    return sorted(found, key=lambda at: runs[at[0]][at[1]])


def cut_at(runs: Sequence[Sequence[Key]], rank: int) -> Cut:
    """Return the cut after the first `rank` keys of all runs."""
    low, high = [0] * len(runs), [len(run) for run in runs]
    rank = min(rank, sum(high))
    while sum(low) < rank < sum(high):
        pivot = _pivot(runs, low, high)
        left = [bisect_left(run, pivot, *ends) for run, *ends in zip(runs, low, high, strict=True)]
        right = [bisect_right(run, pivot, *ends) for run, *ends in zip(runs, left, high, strict=True)]
        if rank <= sum(left):
            high = left
        elif rank >= sum(right):
            low = right
        else:
            return _share(left, right, rank - sum(left))
    return low if rank <= sum(low) else high


def _pivot(runs: Sequence[Sequence[Key]], low: Cut, high: Cut) -> Key:
    """Return the weighted median of the runs' medians: at least a quarter of the rest is on either side of it."""
    spans = [
        (run[(start + end) // 2], end - start) for run, start, end in zip(runs, low, high, strict=True) if end > start
    ]
    spans.sort()
    half = sum(length for _, length in spans) / 2
    weights = accumulate(length for _, length in spans)
    return next(key for (key, _), weight in zip(spans, weights, strict=True) if weight >= half)


def _share(left: Cut, right: Cut, rest: int) -> Cut:
    """Return a cut among equal keys: those of the first runs come first."""
    cut = []
    for start, end in zip(left, right, strict=True):
        taken = min(end - start, rest)
        cut.append(start + taken)
        rest -= taken
    return cut


_MOST_WORDS = 8  # of a search
_UNTOUCHED = "none"
_TOUCHED = "any"
_MERGED = 1_000  # items of a sorted list that are found by merging the files from their first items on
_SHAPE = "3"  # a part of every window's etag: change it when an item gets other fields, or a query finds others
SORTS = ("file", "source", "target", "-source", "-target")


@dataclass(frozen=True, slots=True)
class DraftRecord:
    """A record in a draft; `change` is None where the draft does not change it."""

    placed: Placed[Record]
    change: ChangeType | None

    @property
    def etag(self) -> str:
        """The etag, which changes whenever a field of the record changes."""
        return etag_of(self.placed.record)


@dataclass(frozen=True, slots=True)
class Query:
    """A filter and sort: each word of `text` in source, target or note (any case); exact `type`, `status`, `tag`; `change` or `none`.

    `identity` is the source or path of the records that are wanted: several only where a push brought duplicates.
    """

    text: str = ""
    type: str = ""
    status: str = ""
    tag: str = ""
    change: str = ""
    sort: str = "file"
    identity: str = ""


EVERYTHING = Query()


class Span(NamedTuple):
    """A window of a list: at most `limit` items after `offset` items."""

    offset: int
    limit: int


class ItemPage(NamedTuple):
    """A window of a query's result: its items, the number of all items, an etag of the window, and the draft's head."""

    items: Sequence[DraftRecord]
    total: int
    etag: str
    head: str | None


@dataclass(frozen=True, slots=True)
class DraftView:
    """The records of one kind in a draft: their base, their working state, and the draft's changes."""

    kind: Kind
    base: Snapshot | None
    working: Snapshot
    changes: DraftChanges
    head: str | None = None

    def window_etag(self, query: Query, span: Span) -> str:
        """Return an etag that differs between any two different windows."""
        trees = self.base.tree if self.base else "", self.working.tree
        asked = [_SHAPE, self.working.project, self.kind, self.head, *trees, *astuple(query), *span]
        return sha256(orjson.dumps(asked)).hexdigest()[:32]


def list_items(draft: DraftView, query: Query, span: Span) -> ItemPage:
    """Return a window of the records that match the query; in file order, removed records are last."""
    if query.sort not in SORTS:
        raise BadRequest(f"'sort' must be one of {', '.join(SORTS)}.")
    file_views = [file_view for file_view in _file_views(draft, query) if file_view.count]
    total = sum(file_view.count for file_view in file_views)
    end = min(span.offset + span.limit, total)
    found = _in_file_order if query.sort == "file" else partial(_sorted, query.sort)
    return ItemPage(list(found(file_views, span.offset, end)), total, draft.window_etag(query, span), draft.head)


def find_all(draft: DraftView, query: Query) -> list[Record]:
    """Return all records that match the query, in its order; removed ones only if it asks for them."""
    items = list_items(draft, query, Span(0, sys.maxsize)).items
    gone = ChangeType.REMOVED
    return [item.placed.record for item in items if item.change is not gone or query.change == gone]


class ChangePage(NamedTuple):
    """A window of the changes of one kind that are wanted, their number, and the numbers of all changes."""

    changes: Sequence[Change]
    total: int
    counts: Counts


def list_changes(draft: DraftView, span: Span, query: Query = EVERYTHING) -> ChangePage:
    """Return a window of the changes in the order of the files, removals last, building only its records.

    `text` and `change` of the query filter them by the record as it is in the draft; a removed one as it was.
    """
    kind, changes = draft.kind, draft.changes
    touched = Query(text=query.text, change=query.change or _TOUCHED)
    page = list_items(draft, touched, span)
    if not changes.is_plain and _has_repeated(draft, page.items):
        every = changes_between(draft.base, draft.working)[kind]
        found = [each for each in every if _is_wanted(each, query)]
        return ChangePage(found[span.offset : span.offset + span.limit], len(found), count(every))
    return ChangePage([_change_of(draft, each) for each in page.items], page.total, changes.counts)


def count_changes(draft: DraftView) -> Counts:
    """Count the changes; only where ids are in several places, records are built."""
    return (
        draft.changes.counts
        if draft.changes.is_plain
        else count(changes_between(draft.base, draft.working)[draft.kind])
    )


def _has_repeated(draft: DraftView, items: Sequence[DraftRecord]) -> bool:
    """Tell whether an id is on a window of the changes, or among all of them, more than once."""
    number = sum(file_view.count for file_view in _file_views(draft, Query(change=_TOUCHED)))
    ids = [int(each.placed.record.id, 16) for each in items]
    return number != sum(draft.changes.counts) or bool(draft.base and draft.base.has_repeated(draft.kind, ids))


def _is_wanted(change: Change, query: Query) -> bool:
    record = change.new or change.old
    texts = (change.identity, getattr(record, "target", ""), record.note if record else "")
    found = (any(word in each.casefold() for each in texts) for word in words_of(query.text))
    return query.change in {"", change.change} and all(found)


def _change_of(draft: DraftView, item: DraftRecord) -> Change:
    record = item.placed.record
    if item.change is ChangeType.REMOVED:
        return Change(draft.kind, record, None)
    old = draft.base.find(draft.kind, record.id) if draft.base and item.change is ChangeType.CHANGED else None
    return Change(draft.kind, old.record if old else None, record)


def find_item(draft: DraftView, record_id: str) -> DraftRecord | None:
    """Return a record of the draft, or None where no record has the id."""
    placed, at = draft.working.find(draft.kind, record_id), draft.working.locate(draft.kind, record_id)
    if not (placed and at):
        return None
    file, place = at
    return DraftRecord(placed, draft.changes.type_at(draft.working.rule_files[draft.kind][file].path, place))


class _FileView:
    """A file and its matching records (None: all); for removed records a file of the base."""

    def __init__(
        self, draft: DraftView, file: CompiledFile, before: int, wanted: Flags | None, *, removed: bool = False
    ) -> None:
        self._draft = draft
        self._removed = removed
        self._before = before
        self.file = file
        self.wanted = wanted
        self.count = len(file.segment) if wanted is None else wanted.count(1)

    def places(self) -> Iterator[int]:
        places = range(len(self.file.segment))
        return iter(places) if self.wanted is None else compress(places, self.wanted)

    def item(self, place: int) -> DraftRecord:
        segment = self.file.segment
        snapshot = self._draft.base if self._removed and self._draft.base else self._draft.working
        record = snapshot.whole(self.file, segment.record(place))
        if self._removed:
            return DraftRecord(Placed(record), ChangeType.REMOVED)
        placed: Placed[Record] = Placed(
            record, snapshot.full_path(self.file.path), segment.lines[place], self._before + place
        )
        return DraftRecord(placed, self._draft.changes.type_at(self.file.path, place))


def _file_views(draft: DraftView, query: Query) -> Iterator[_FileView]:
    before = 0
    for file in draft.working.rule_files[draft.kind]:
        wanted = intersect_flags(_wanted(file, query), _changed(file, query.change, draft.changes))
        yield _FileView(draft, file, before, wanted)
        before += len(file.segment)
    if query.change in {"", _TOUCHED, ChangeType.REMOVED}:
        for file, lost in draft.changes.lost.values():
            yield _FileView(draft, file, 0, intersect_flags(_wanted(file, query), lost), removed=True)


def _wanted(file: CompiledFile, query: Query) -> Flags | None:
    if query.identity:
        return intersect_flags(_identified(file, query.identity), _wanted(file, replace(query, identity="")))
    if not (query.text or query.type or query.status or query.tag):
        return None
    columns: Columns = file.segment.columns
    found = _containing_words(columns, query.text) if query.text else None
    found = intersect_flags(found, columns.flags_of_type(query.type) if query.type else None)
    found = intersect_flags(found, columns.flags_of_status(query.status) if query.status else None)
    return intersect_flags(found, columns.flags_tagged(query.tag) if query.tag else None)


def _containing_words(columns: Columns, text: str) -> Flags | None:
    """Select the records that contain each word of a text."""
    return reduce(intersect_flags, (columns.flags_containing(word) for word in words_of(text)), None)


def words_of(text: str) -> list[str]:
    """Return the words that a search is for, in folded case; after some, the rest counts as one."""
    return text.casefold().strip().split(maxsplit=_MOST_WORDS - 1) or [text]


def _identified(file: CompiledFile, identity: str) -> Flags:
    found = bytearray(len(file.segment))
    for place in file.segment.positions(identity_id(identity)):
        found[place] = 1
    return bytes(found)


def _changed(file: CompiledFile, change: str, changes: DraftChanges) -> Flags | None:
    if not change:
        return None
    if change == _TOUCHED:
        return changes.changed_flags(file)
    if change != _UNTOUCHED:
        return changes.flags(file, change)
    return changes.flags(file, "") if file.path in changes.codes else None


def _in_file_order(file_views: Sequence[_FileView], offset: int, end: int) -> Iterator[DraftRecord]:
    """Yield the items of a window; reads only the files in it."""
    start = 0
    for file_view in file_views:
        if start + file_view.count > offset and start < end:
            yield from map(file_view.item, islice(file_view.places(), max(offset - start, 0), end - start))
        start += file_view.count


def _sorted(sort: str, file_views: Sequence[_FileView], offset: int, end: int) -> list[DraftRecord]:
    """Return the items of a window; equal keys stay in file order both ways."""
    if end > _MERGED:
        return _sorted_by_rank(sort, file_views, offset, end)
    runs = [_run(sort, number, file_view) for number, file_view in enumerate(file_views)]
    merged = merge(*runs, key=itemgetter(0), reverse=sort.startswith("-"))
    return [file_views[number].item(place) for _, number, place in islice(merged, offset, end)]


def _run(sort: str, number: int, file_view: _FileView) -> Iterator[tuple[bytes, int, int]]:
    keys = file_view.file.segment.columns.in_order(sort, file_view.wanted)
    return ((key, number, place) for key, place in keys)


def _sorted_by_rank(sort: str, file_views: Sequence[_FileView], offset: int, end: int) -> list[DraftRecord]:
    """Return the items of a window that is far from the start; descending reverses an ascending list."""
    descends = sort.startswith("-")
    ordered = list(reversed(file_views)) if descends else file_views
    runs = [file_view.file.segment.columns.filtered_run(sort, file_view.wanted) for file_view in ordered]
    total = sum(file_view.count for file_view in file_views)
    start, stop = (total - end, total - offset) if descends else (offset, end)
    found = rank_window([run.keys for run in runs], max(start, 0), stop - start)
    items = [ordered[number].item(runs[number].places[at]) for number, at in found]
    return items[::-1] if descends else items
