"""The rule-level difference between two snapshots, from the files that differ."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from content.changes.diff import Change, diff
from content.records.record import Placed, Record
from content.records.vocabulary import Kind
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot

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


def find_compared_files(kind: Kind, old: Snapshot | None, new: Snapshot | None) -> ComparedFiles:
    """Find the files whose comparison shows every difference between two states."""
    if old is None or new is None:
        return ComparedFiles([*old.rule_files[kind]] if old else [], [*new.rule_files[kind]] if new else [])
    differing = ComparedFiles(files_only_in(kind, old, new), files_only_in(kind, new, old))
    touched = frozenset[int]().union(*(file.segment.id_set for files in differing for file in files))
    return add_files_with(kind, (old, new), differing, touched)


def add_files_with(
    kind: Kind, states: tuple[Snapshot, Snapshot], differing: ComparedFiles, ids: frozenset[int]
) -> ComparedFiles:
    """Add the unchanged files of two states that have a record with one of these ids."""
    only = [{file.path for file in files} for files in differing]
    return ComparedFiles(*(_with_touched(one, kind, paths, ids) for one, paths in zip(states, only, strict=True)))


def _with_touched(snapshot: Snapshot, kind: Kind, paths: set[str], touched: frozenset[int]) -> list[CompiledFile]:
    return [
        file
        for file in (snapshot.rule_files[kind] if touched else ())
        if file.path in paths or file.segment.has_any(touched)
    ]


def find_records_in_differing_files(
    kind: Kind, one: Snapshot | None, other: Snapshot | None
) -> dict[str, Placed[Record]]:
    """Return the records of `one`, by identity, in files that `other` does not have unchanged."""
    return {placed.record.identity: placed for placed in _differing(kind, one, other)} if one else {}


def files_only_in(kind: Kind, one: Snapshot, other: Snapshot | None) -> list[CompiledFile]:
    """List the rule files of `one` that `other` does not have unchanged."""
    same = _fingerprints(kind, other) if other else set()
    return [file for file in one.rule_files[kind] if _fingerprint(one, file) not in same]


def find_differing_files(kind: Kind, one: Snapshot | None, other: Snapshot) -> Iterator[tuple[Snapshot, CompiledFile]]:
    """Yield the files of either snapshot that the other does not have unchanged, each with its snapshot."""
    for here, there in ((one, other), (other, one)) if one else ((other, None),):
        yield from ((here, file) for file in files_only_in(kind, here, there))


def _changes(kind: Kind, old: Snapshot | None, new: Snapshot | None) -> list[Change]:
    files = find_compared_files(kind, old, new)
    return diff(kind, _records(kind, old, files.old), _records(kind, new, files.new))


def _records(kind: Kind, snapshot: Snapshot | None, files: Sequence[CompiledFile]) -> dict[str, Record]:
    """Collect records like `_differing`, but without places: 100,000 in half the time. Of duplicates the last counts."""
    if snapshot and kind is Kind.PAGES:
        return {record.identity: snapshot.whole(file, record) for file in files for record in file.segment.records}
    return {record.identity: record for file in files for record in file.segment.records}


def _differing(kind: Kind, one: Snapshot, other: Snapshot | None) -> Iterator[Placed[Record]]:
    for file in files_only_in(kind, one, other):
        for index, record in enumerate(file.segment.records):
            yield Placed(one.whole(file, record), one.full_path(file.path), file.segment.lines[index], index)


def _fingerprints(kind: Kind, snapshot: Snapshot) -> set[tuple[object, ...]]:
    return {_fingerprint(snapshot, file) for file in snapshot.rule_files[kind]}


def _fingerprint(snapshot: Snapshot, file: CompiledFile) -> tuple[object, ...]:
    if file.segment.kind is not Kind.PAGES:  # only pages name other files
        return file.path, file.blob
    return file.path, file.blob, *(snapshot.body_of(file, position) for position in file.segment.extras)
