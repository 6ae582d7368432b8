"""The difference between two states of a project, rule by rule and field by field."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from content.record import Page, Record
from content.vocabulary import Kind


class ChangeType(StrEnum):
    """What happened to a record."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class Counts(NamedTuple):
    """How many records of one kind were added, changed and removed."""

    added: int
    changed: int
    removed: int

    def wire(self) -> dict[str, int]:
        """The JSON shape of the API's `changes`."""
        return self._asdict()


@dataclass(frozen=True, slots=True)
class Change:
    """One record that differs: `old` is None where it was added, `new` is None where it was removed."""

    kind: Kind
    old: Record | None
    new: Record | None

    @property
    def change(self) -> ChangeType:
        """What happened to the record."""
        if self.old is None:
            return ChangeType.ADDED
        return ChangeType.REMOVED if self.new is None else ChangeType.CHANGED

    @property
    def identity(self) -> str:
        """The source of the redirect, or the path of the page."""
        return (self.new or self._record).identity  # every record is true; 100,000 ask

    @property
    def id(self) -> str:
        """The API's id of the record."""
        return self._record.id

    @property
    def fields(self) -> dict[str, tuple[object, object]]:
        """The fields that differ, by wire name: the old value and the new; None where a side has none."""
        old, new = compared_fields(self.old), compared_fields(self.new)
        names = dict.fromkeys((*old, *new))
        pairs = {name: (old.get(name), new.get(name)) for name in names}
        return {name: (before, after) for name, (before, after) in pairs.items() if before != after}

    def wire(self) -> dict[str, object]:
        """The JSON shape of the API: `kind` in the singular, the identity by its own name, fields as old and new."""
        return {
            "kind": item_kind(self.kind),
            "id": self.id,
            identity_field(self.kind): self.identity,
            "change": self.change.value,
            "fields": {name: {"old": old, "new": new} for name, (old, new) in self.fields.items()},
        }

    @property
    def _record(self) -> Record:
        record = self.old if self.new is None else self.new
        if record is None:
            raise ValueError("a change has an old or a new record")
        return record


def item_kind(kind: Kind) -> str:
    """What the API calls one record of the kind: `redirect` or `page`."""
    return kind.value.removesuffix("s")


def identity_field(kind: Kind) -> str:
    """The field that a record of the kind is known by: `source` or `path`."""
    return "source" if kind is Kind.REDIRECTS else "path"


def compared_fields(record: Record | None) -> dict[str, object]:
    """Every field that a person may change, by wire name; empty ones are left out, and so is a record that is None."""
    if record is None:
        return {}
    if isinstance(record, Page) and record.content_file:
        return {**record.fields(), "contentFile": record.content_file}
    return record.fields()


def diff(kind: Kind, old: Mapping[str, Record], new: Mapping[str, Record]) -> list[Change]:
    """What leads from `old` to `new`, both keyed by identity: in the order of `new`, then what is gone in that of `old`."""
    present = [Change(kind, old.get(key), record) for key, record in new.items() if _differs(old.get(key), record)]
    gone = [Change(kind, record, None) for key, record in old.items() if key not in new]
    return present + gone


def count(changes: Iterable[Change]) -> Counts:
    """How many of the changes add, change and remove."""
    types = [change.change for change in changes]
    return Counts(*(types.count(each) for each in ChangeType))


def _differs(old: Record | None, new: Record) -> bool:
    # Most records of two states are one object, since unchanged files are read once: 100,000 in 10 ms instead of 100.
    return old is not new and old != new
