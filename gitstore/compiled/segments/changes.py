"""The rule-level difference between two snapshots, from the files that differ."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from content.changes.diff import Change, diff
from content.records.record import Placed, Record
from content.records.vocabulary import Kind
from gitstore.compiled.segments.segment import Segment
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot

_FEW = 100  # records, which are built one by one
_PER_CHANGED = 8  # records of a file can be built together in the time of one by itself

ChangesByKind = Mapping[Kind, list[Change]]


def changes_between(old: Snapshot | None, new: Snapshot | None) -> ChangesByKind:
    """Return the differences between two states of a project; None is a project that does not exist."""
    return {kind: _changes(kind, old, new) for kind in Kind}


class ComparedFiles(NamedTuple):
    """The files to compare of two states, in their order.

    They are those that differ, and unchanged ones with a record of them too: a refused push may have duplicates, and
    without one of them the rule is still there.
    """

    old: list[CompiledFile]
    new: list[CompiledFile]


def add_files_with(
    kind: Kind, states: tuple[Snapshot, Snapshot], differing: ComparedFiles, ids: frozenset[int]
) -> ComparedFiles:
    """Add the unchanged files of two states that have a record with one of these ids."""
    return ComparedFiles(*(_with_touched(kind, one, files, ids) for one, files in zip(states, differing, strict=True)))


def _with_touched(
    kind: Kind, snapshot: Snapshot, differing: list[CompiledFile], touched: frozenset[int]
) -> list[CompiledFile]:
    """Return the differing files and those with a touched record, in path order, which is that of a state."""
    if len(differing) == len(snapshot.rule_files[kind]):  # an import, or a change of all: there are no others
        return differing
    files = {file.path: file for file in (*differing, *snapshot.files_with(kind, touched))} if touched else {}
    return [files[path] for path in sorted(files)]


def find_records_in_differing_files(
    kind: Kind, one: Snapshot | None, other: Snapshot | None
) -> dict[str, Placed[Record]]:
    """Return the records of `one`, by identity, in files that `other` does not have unchanged."""
    return {placed.record.identity: placed for placed in _differing(kind, one, other)} if one else {}


def files_only_in(kind: Kind, one: Snapshot, other: Snapshot | None) -> list[CompiledFile]:
    """List the rule files of `one` that `other` does not have unchanged."""
    if other and kind is Kind.REDIRECTS:  # only pages name other files
        return differing_files(one.rule_files[kind], other.rule_files[kind])
    same = _fingerprints(kind, other) if other else set()
    return [file for file in one.rule_files[kind] if _fingerprint(one, file) not in same]


def find_differing_files(kind: Kind, one: Snapshot | None, other: Snapshot) -> Iterator[tuple[Snapshot, CompiledFile]]:
    """Yield the files of either snapshot that the other does not have unchanged, each with its snapshot."""
    for here, there in ((one, other), (other, one)) if one else ((other, None),):
        yield from ((here, file) for file in files_only_in(kind, here, there))


def differing_files(files: Sequence[CompiledFile], others: Sequence[CompiledFile]) -> list[CompiledFile]:
    """List the files that are not among the others with the same path and content; both are in path order."""
    if len(files) == len(others):  # mostly the same objects
        pairs = [pair for pair in zip(files, others, strict=True) if pair[0] is not pair[1]]
        if all(file.path == other.path for file, other in pairs):
            return [file for file, other in pairs if file.blob != other.blob]
    same = {(file.path, file.blob) for file in others}
    return [file for file in files if (file.path, file.blob) not in same]


def _changes(kind: Kind, old: Snapshot | None, new: Snapshot | None) -> list[Change]:
    if old is None or new is None:
        return diff(kind, *(_records(kind, one, one.rule_files[kind]) if one else {} for one in (old, new)))
    differing = ComparedFiles(files_only_in(kind, old, new), files_only_in(kind, new, old))
    touched = _find_touched(kind, differing)
    files = add_files_with(kind, (old, new), differing, touched)
    only = touched if kind is Kind.REDIRECTS else None
    return diff(kind, _records(kind, old, files.old, only), _records(kind, new, files.new, only))


def _find_touched(kind: Kind, differing: ComparedFiles) -> frozenset[int]:
    """Return the ids of the records that may differ; of pages all, since their content may be in other files."""
    if kind is Kind.PAGES:
        return frozenset[int]().union(*(file.segment.id_set for files in differing for file in files))
    old, new = ({file.path: _prints(file) for file in files} for files in differing)
    none = frozenset[tuple[int, int]]()
    rows = (old.get(path, none) ^ new.get(path, none) for path in old.keys() | new.keys())
    return frozenset(number for row in rows for number, _ in row)


def _prints(file: CompiledFile) -> frozenset[tuple[int, int]]:
    """Return the ids of a file's records with their fingerprints; of duplicates the last counts."""
    segment = file.segment.whole
    return frozenset(dict(zip(segment.ids, segment.fingerprints, strict=True)).items())


def _records(
    kind: Kind, snapshot: Snapshot, files: Sequence[CompiledFile], only: frozenset[int] | None = None
) -> dict[str, Record]:
    """Collect records like `_differing`, but without places: 100,000 in half the time. Of duplicates the last counts.

    With `only`, these ids: of a few, no other record is built.
    """
    if only is not None and len(only) <= max(_FEW, sum(len(file.segment) for file in files) // _PER_CHANGED):
        return {record.identity: record for file in files for record in _some(file.segment.whole, only)}
    if kind is Kind.PAGES:
        return {record.identity: snapshot.whole(file, record) for file in files for record in file.segment.records}
    return {record.identity: record for file in files for record in file.segment.records}


def _some(segment: Segment, ids: frozenset[int]) -> Iterator[Record]:
    return (segment.record(at) for at, number in enumerate(segment.ids) if number in ids)


def _differing(kind: Kind, one: Snapshot, other: Snapshot | None) -> Iterator[Placed[Record]]:
    for file in files_only_in(kind, one, other):
        segment = file.segment.whole
        for index, record in enumerate(segment.records):
            yield Placed(one.whole(file, record), one.full_path(file.path), segment.lines[index], index)


def _fingerprints(kind: Kind, snapshot: Snapshot) -> set[tuple[object, ...]]:
    return {_fingerprint(snapshot, file) for file in snapshot.rule_files[kind]}


def _fingerprint(snapshot: Snapshot, file: CompiledFile) -> tuple[object, ...]:
    if file.segment.kind is not Kind.PAGES:  # only pages name other files
        return file.path, file.blob
    return file.path, file.blob, *(snapshot.body_of(file, position) for position in file.segment.extras)
