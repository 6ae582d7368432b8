"""The redirects that a draft has after an import, in their order there, before anything is written.

Which of two rules with an equal source answers is a matter of this order, and so is a loop through one of them.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from content.computed_sequence import ComputedSequence
from content.formats.import_plan import ImportPlan, placed_row
from content.records.record import Placed, Redirect
from content.records.vocabulary import Kind, RedirectType
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.editing.workspace import list_files_for_new

_UNCHANGED = -1


class _Span(NamedTuple):
    """Some redirects in a row: new ones of the import, or existing ones, of which it may change some."""

    start: int
    end: int
    is_new: bool = False


class ImportedRedirects(ComputedSequence[Placed[Redirect]]):
    """The redirects of `existing`, all of a snapshot, with a plan's rows, which are built when they are read."""

    def __init__(self, snapshot: Snapshot, existing: Sequence[Placed[Redirect]], plan: ImportPlan) -> None:
        self._existing = existing
        self._added, self._changed = plan.added, plan.changed
        self._row_of = _find_changed(existing, plan)
        lengths = {file.path: len(file.segment) for file in snapshot.rule_files[Kind.REDIRECTS]}
        self._spans = list(_join(_list_spans(lengths, len(plan.added))))
        self._starts = list(accumulate((span.end - span.start for span in self._spans), initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    def build(self, index: int) -> Placed[Redirect]:
        """Build the redirect at an index."""
        number = bisect_right(self._starts, index) - 1
        span = self._spans[number]
        return self._build(span, span.start + index - self._starts[number])

    def __iter__(self) -> Iterator[Placed[Redirect]]:
        for span in self._spans:
            yield from self._build_all(span)

    def sources(self) -> Iterator[tuple[RedirectType, str]]:
        """Yield type and source of each redirect."""
        for span in self._spans:
            if self._has_all_new(span):
                yield from self._added.sources()
            else:
                yield from ((placed.record.type, placed.record.source) for placed in self._build_all(span))

    def enumerate_rows(self) -> Iterator[tuple[int, Placed[Redirect]]]:
        """Yield the redirects of the import, each with its position."""
        for span, first in zip(self._spans, self._starts, strict=False):
            if span.is_new:
                yield from enumerate(self._build_all(span), first)
            else:
                changed = (at for at in range(span.start, span.end) if self._row_of[at] != _UNCHANGED)
                yield from ((first + at - span.start, self._build(span, at)) for at in changed)

    def _build_all(self, span: _Span) -> Iterator[Placed[Redirect]]:
        if self._has_all_new(span):
            return map(placed_row, self._added)  # in half the time
        return (self._build(span, at) for at in range(span.start, span.end))

    def _has_all_new(self, span: _Span) -> bool:
        return span.is_new and span.end - span.start == len(self._added)

    def _build(self, span: _Span, at: int) -> Placed[Redirect]:
        if span.is_new:
            return placed_row(self._added[at])
        row = self._row_of[at]
        return self._existing[at] if row == _UNCHANGED else placed_row(self._changed[row])


def _find_changed(existing: Sequence[Placed[Redirect]], plan: ImportPlan) -> Sequence[int]:
    """Return the number of the row that changes each redirect; of duplicates the first one is changed."""
    found = array("q", [_UNCHANGED]) * len(existing)
    rows = {row.fields.source: number for number, row in enumerate(plan.changed) if row.fields}
    for at, placed in enumerate(existing if rows else ()):
        found[at] = rows.pop(placed.record.source, _UNCHANGED)
    return found


def _list_spans(lengths: Mapping[str, int], new: int) -> Iterator[_Span]:
    """Yield the redirects of all files in the order of their paths, with the new ones at the end of the files that take them."""
    rows = _share_rows(lengths, new)
    start = 0
    for path in sorted({*lengths, *rows}):
        length = lengths.get(path, 0)
        yield _Span(start, start + length)
        start += length
        if path in rows:
            yield rows[path]


def _join(spans: Iterable[_Span]) -> Iterator[_Span]:
    """Join each span to the one before that it continues."""
    waiting = _Span(0, 0)
    for span in spans:
        if waiting.is_new == span.is_new and waiting.end == span.start:
            waiting = waiting._replace(end=span.end)
        elif span.end > span.start:
            yield waiting
            waiting = span
    yield waiting


def _share_rows(lengths: Mapping[str, int], new: int) -> dict[str, _Span]:
    """Return the new redirects of each file that takes some."""
    found: dict[str, _Span] = {}
    start = 0
    files = list_files_for_new(Kind.REDIRECTS, lengths, lengths.__getitem__)
    while start < new:
        path, room = next(files)
        found[path] = _Span(start, min(start + room, new), is_new=True)
        start += room
    return found
