"""The reading and checking of large folders on all cores, for commands."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

from content.checks.set_rules import set_problems
from content.matching.matcher import Matcher
from content.records.problem import Problem
from content.records.record import Page, Placed, Record, Redirect
from content.records.vocabulary import STATUS_BY_WORD, TYPE_BY_NAME, Kind
from gitstore.compiled.segments.segment import Segment, segment_of
from gitstore.compiled.segments.segment_store import SegmentStore
from gitstore.layout import BlobId
from gitstore.processes import count_cores, map_on_cores
from gitstore.yamlfiles.rule_file import RuleFile

# Below these, one core is as fast: a copy of the process takes some milliseconds.
_FEW_FILES = 12
_FEW_RULES = 10_000


class ParallelSegments(SegmentStore):
    """Segments that are compiled on all cores, and stay in memory while their snapshot does."""

    def find_outlined(
        self, project: str, blobs: Sequence[BlobId], load: Callable[[BlobId], Segment]
    ) -> Mapping[BlobId, Segment]:
        """Return the segments of a project with many files."""
        if len(blobs) < _FEW_FILES:
            return super().find_outlined(project, blobs, load)
        wanted = list(dict.fromkeys(blobs))
        return dict(zip(wanted, map_on_cores(load, wanted, _pack, _unpack), strict=True))


def _pack(segment: Segment) -> tuple[Any, ...]:
    """Return a segment in columns of text, which a pipe takes ten times faster than records."""
    records: Sequence[Record] = segment.records
    plain, beside = list[Redirect](), dict[int, Record]()
    for at, record in enumerate(records):
        if isinstance(record, Redirect) and not (record.note or record.tags):
            plain.append(record)
        else:
            beside[at] = record
    columns = (
        [record.type.value for record in plain],
        [record.source for record in plain],
        [record.target for record in plain],
        [record.status.value for record in plain],
    )
    return segment.kind, segment.lines, segment.problems, columns, beside


def _unpack(packed: tuple[Any, ...]) -> Segment:
    kind, lines, problems, (types, sources, targets, statuses), beside = packed
    types, statuses = map(TYPE_BY_NAME.__getitem__, types), map(STATUS_BY_WORD.__getitem__, statuses)
    records: list[Record] = list(map(Redirect, types, sources, targets, statuses))
    for at, record in beside.items():  # in order, so that each gets its old position
        records.insert(at, record)
    return segment_of(RuleFile(Kind(kind) if kind else None, tuple(records), lines, problems))


def check_set_on_cores(
    matcher: Matcher, redirects: Sequence[Placed[Redirect]], pages: Sequence[Placed[Page]]
) -> list[Problem]:
    """Do what `set_problems` does, with a part of the redirects on each core."""
    if len(redirects) < _FEW_RULES:
        return set_problems(matcher, redirects, pages)
    size = -(-len(redirects) // count_cores())
    parts = [redirects[start : start + size] for start in range(0, len(redirects), size)]
    found = map_on_cores(lambda part: set_problems(matcher, part, ()), parts)
    return [*chain.from_iterable(found), *set_problems(matcher, (), pages)]
