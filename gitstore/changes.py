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


def _changes(kind: Kind, old: Snapshot | None, new: Snapshot | None) -> list[Change]:
    before = {identity: placed.record for identity, placed in differing(kind, old, new).items()}
    after = {identity: placed.record for identity, placed in differing(kind, new, old).items()}
    return diff(kind, before, after)


def _differing(kind: Kind, one: Snapshot, other: Snapshot | None) -> Iterator[Placed[Record]]:
    for file in files_apart(kind, one, other):
        for index, record in enumerate(file.part.records):
            yield Placed(one.whole(file, record), one.full_path(file.path), file.part.lines[index], index)


def _fingerprints(kind: Kind, snapshot: Snapshot) -> set[tuple[object, ...]]:
    return {_fingerprint(snapshot, file) for file in snapshot.rule_files[kind]}


def _fingerprint(snapshot: Snapshot, file: RuleFile) -> tuple[object, ...]:
    named = tuple(snapshot.body_of(file, position) for position in file.part.extras)
    return file.path, file.blob, named
