"""The rule-level difference between two snapshots, reading only the files that differ."""

from collections.abc import Iterator, Mapping

from content.diff import Change, Counts, count, diff
from content.record import Placed, Record
from content.vocabulary import Kind
from gitstore.snapshot import RuleFile, Snapshot

ChangesByKind = Mapping[Kind, list[Change]]


def changes_between(old: Snapshot | None, new: Snapshot | None) -> ChangesByKind:
    """What leads from one state of a project to another; None is a project that does not exist."""
    return {kind: _changes(kind, old, new) for kind in Kind}


def count_changes(old: Snapshot | None, new: Snapshot | None) -> dict[Kind, Counts]:
    """How many records were added, changed and removed."""
    return {kind: count(changes) for kind, changes in changes_between(old, new).items()}


def differing(kind: Kind, one: Snapshot | None, other: Snapshot | None) -> dict[str, Placed[Record]]:
    """The records of `one`, by identity, that stand in files which `other` does not have just so."""
    return {placed.record.identity: placed for placed in _differing(kind, one, other)} if one else {}


def files_apart(kind: Kind, one: Snapshot, other: Snapshot | None) -> list[RuleFile]:
    """The rule files of `one` that `other` does not have just so."""
    same = _fingerprints(kind, other) if other else set()
    return [file for file in one.rule_files[kind] if _fingerprint(one, file) not in same]


def differing_files(kind: Kind, one: Snapshot | None, other: Snapshot) -> Iterator[tuple[Snapshot, RuleFile]]:
    """The files of either snapshot that the other does not have just so, each with the snapshot that it is of."""
    for here, there in ((one, other), (other, one)) if one else ((other, None),):
        yield from ((here, file) for file in files_apart(kind, here, there))


def _changes(kind: Kind, old: Snapshot | None, new: Snapshot | None) -> list[Change]:
    return diff(kind, _records(kind, old, new), _records(kind, new, old))


def _records(kind: Kind, one: Snapshot | None, other: Snapshot | None) -> dict[str, Record]:
    """As `differing`, without the places: 100,000 in half the time."""
    if one is None:
        return {}
    same = _fingerprints(kind, other) if other else set()
    files = [file for file in one.rule_files[kind] if _fingerprint(one, file) not in same]
    if kind is Kind.PAGES:
        return {record.identity: one.whole(file, record) for file in files for record in file.part.records}
    return {record.identity: record for file in files for record in file.part.records}


def _differing(kind: Kind, one: Snapshot, other: Snapshot | None) -> Iterator[Placed[Record]]:
    for file in files_apart(kind, one, other):
        for index, record in enumerate(file.part.records):
            yield Placed(one.whole(file, record), one.full_path(file.path), file.part.lines[index], index)


def _fingerprints(kind: Kind, snapshot: Snapshot) -> set[tuple[object, ...]]:
    return {_fingerprint(snapshot, file) for file in snapshot.rule_files[kind]}


def _fingerprint(snapshot: Snapshot, file: RuleFile) -> tuple[object, ...]:
    named = tuple(snapshot.body_of(file, position) for position in file.part.extras)
    return file.path, file.blob, named
