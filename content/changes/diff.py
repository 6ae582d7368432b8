"""The difference between two states of a project, rule by rule and field by field."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from content.records.record import Page, Record
from content.records.vocabulary import Kind


class ChangeType(StrEnum):
    """The type of a change: added, changed or removed."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class Counts(NamedTuple):
    """Numbers of added, changed and removed records of one kind."""

    added: int
    changed: int
    removed: int

    def wire(self) -> dict[str, int]:
        """Return the JSON shape of the API's `changes`."""
        return self._asdict()


def change_type(old: object, new: object) -> ChangeType:
    """Return how something changes that differs: None is a side without it."""
    if old is None:
        return ChangeType.ADDED
    return ChangeType.REMOVED if new is None else ChangeType.CHANGED


@dataclass(frozen=True, slots=True)
class Change:
    """A record that differs: `old` is None where it was added, `new` is None where it was removed."""

    kind: Kind
    old: Record | None
    new: Record | None

    @property
    def change(self) -> ChangeType:
        """The type of the change."""
        return change_type(self.old, self.new)

    @property
    def identity(self) -> str:
        """The source of the redirect, or the path of the page."""
        return (self.new or self._record).identity  # `or`: every record is truthy, and 100,000 are read

    @property
    def id(self) -> str:
        """The API's id of the record."""
        return self._record.id

    @property
    def fields(self) -> dict[str, tuple[object, object]]:
        """The fields that differ, by wire name: the old value and the new; None where the side lacks the field."""
        old, new = editable_fields(self.old), editable_fields(self.new)
        names = dict.fromkeys((*old, *new))
        pairs = {name: (old.get(name), new.get(name)) for name in names}
        return {name: (before, after) for name, (before, after) in pairs.items() if before != after}

    def wire(self) -> dict[str, object]:
        """Return the JSON shape of the API: `kind` in the singular, the identity by its own name, its type, old and new fields."""
        return {
            "kind": item_kind(self.kind),
            "id": self.id,
            identity_field(self.kind): self.identity,
            "type": (self.new or self._record).type.value,
            "change": self.change.value,
            "fields": {name: {"old": old, "new": new} for name, (old, new) in self.fields.items()},
        }

    @property
    def _record(self) -> Record:
        record = self.old if self.new is None else self.new
        if record is None:
            raise ValueError("a change has an old or a new record")
        return record


def chosen_names(kind: str, record_id: str) -> tuple[str, str]:
    """Return the names by which a call chooses a change: its id, and its id with the kind, since records of two kinds can have one id."""
    return record_id, f"{kind}:{record_id}"


def item_kind(kind: Kind) -> str:
    """Return the API's name for a record of the kind: `redirect` or `page`."""
    return kind.value.removesuffix("s")


def identity_field(kind: Kind) -> str:
    """Return the field that identifies a record of the kind: `source` or `path`."""
    return "source" if kind is Kind.REDIRECTS else "path"


def editable_fields(record: Record | None) -> dict[str, object]:
    """Return every editable field by wire name; empty fields are left out; {} for None."""
    if record is None:
        return {}
    if isinstance(record, Page) and record.content_file:
        return {**record.fields(), "contentFile": record.content_file}
    return record.fields()


def diff(kind: Kind, old: Mapping[str, Record], new: Mapping[str, Record]) -> list[Change]:
    """Return the changes from `old` to `new`, keyed by identity: in the order of `new`, then removals in that of `old`."""
    present = [Change(kind, old.get(key), record) for key, record in new.items() if _differs(old.get(key), record)]
    gone = [Change(kind, record, None) for key, record in old.items() if key not in new]
    return present + gone


def count(changes: Iterable[Change]) -> Counts:
    """Count the changes by type."""
    types = [change.change for change in changes]
    return Counts(*(types.count(each) for each in ChangeType))


def _differs(old: Record | None, new: Record) -> bool:
    # Unchanged files are read once, so most records of two states are one object: 10 ms for 100,000 instead of 100.
    return old is not new and old != new
