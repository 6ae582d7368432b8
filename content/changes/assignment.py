"""Changes of many records that need no search: a status, tags, or the removal of the records."""

from collections.abc import Iterable
from dataclasses import dataclass

from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits
from content.records.record import Record, Redirect
from content.records.vocabulary import RedirectStatus


@dataclass(frozen=True, slots=True)
class Assignment:
    """New values of fields: the status of redirects; all tags, or tags to add and to remove."""

    status: RedirectStatus | None = None
    tags: tuple[str, ...] | None = None
    add_tags: tuple[str, ...] = ()
    remove_tags: frozenset[str] = frozenset()

    def check(self, limits: PatternLimits = DEFAULT_LIMITS) -> None:
        """Accept every assignment; its values are checked with each record."""

    def changed_fields(self, record: Record, _fields: Iterable[str] = ()) -> dict[str, object]:
        """Return the values that differ after the assignment, by wire name."""
        found: dict[str, object] = {}
        if self.status and isinstance(record, Redirect) and record.status is not self.status:
            found["status"] = self.status.value
        tags = self._tags(record.tags)
        if tags != record.tags:
            found["tags"] = list(tags)
        return found

    def _tags(self, before: tuple[str, ...]) -> tuple[str, ...]:
        start = before if self.tags is None else self.tags
        kept = [tag for tag in start if tag not in self.remove_tags]
        return tuple(kept + [tag for tag in dict.fromkeys(self.add_tags) if tag not in kept])


@dataclass(frozen=True, slots=True)
class Removal:
    """The removal of records."""

    def check(self, limits: PatternLimits = DEFAULT_LIMITS) -> None:
        """Accept every removal."""

    def changed_fields(self, record: Record, _fields: Iterable[str] = ()) -> dict[str, object]:
        """Return null for each field that the record has, by wire name."""
        return dict.fromkeys(record.fields())
