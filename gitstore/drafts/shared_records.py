"""The records that another draft or branch changes too."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from content.changes.diff import ChangeType
from content.records.vocabulary import Kind
from gitstore.compiled.segments.snapshot import Snapshot

States = tuple[Snapshot | None, Snapshot | None]  # the base of a draft or branch, and its working state


@dataclass(frozen=True, slots=True)
class SharedRecord:
    """A record that a draft or proposal changes."""

    kind: Kind
    id: str
    change: ChangeType


def find_changed(states: States, kinds: Collection[Kind], ids: Collection[str]) -> Iterator[SharedRecord]:
    """Yield those of the records that differ between two states.

    Each is looked up by its id in both, so the cost follows the number of ids, not that of the rules.
    """
    before, after = states
    for kind in (kind for kind in Kind if kind in kinds):
        for each in ids:
            old, new = (side.find_record(kind, each) if side else None for side in (before, after))
            if old != new:
                yield SharedRecord(
                    kind,
                    each,
                    ChangeType.ADDED if old is None else ChangeType.REMOVED if new is None else ChangeType.CHANGED,
                )
