"""Search and replace in the fields of records: literal text, or RE2 with `$1` to `$9` in the replacement."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from content.changes.diff import editable_fields
from content.checks.pattern_budget import CallBudget
from content.matching.pattern import Pattern, find_pattern
from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits
from content.records.record import Page, Record, Redirect, page_of, redirect_of

# The text fields of each kind of record.
FIELDS: Mapping[str, tuple[str, ...]] = {
    "redirect": ("source", "target", "note", "tags"),
    "page": ("path", "content", "note", "tags"),
}
MAX_LENGTH = 4 << 20  # characters of a text after replacing: above every field's limit, and cheap to hold
_REFERENCE = re.compile(r"\$([1-9])")


class InvalidReplacement(ValueError):
    """An unusable search or replacement text; the message is a sentence."""


@dataclass(frozen=True)
class Replacement:
    """A search text or regular expression, and its replacement."""

    find: str
    replace: str
    regex: bool = False

    def check(self, limits: PatternLimits = DEFAULT_LIMITS) -> None:
        """Raise InvalidPattern or InvalidReplacement where the replacement cannot be run."""
        if not self.find:
            raise InvalidReplacement("the text to find is empty")
        if not self.regex:
            return
        if too_costly := CallBudget(limits).spend(self.find):
            raise InvalidReplacement(too_costly[0].message)
        if self._pattern.captures("") is not None:
            raise InvalidReplacement(_MATCHES_EMPTY_TEXT)
        wanted = max((int(number) for number in _REFERENCE.findall(self.replace)), default=0)
        if wanted > self._pattern.groups:
            groups = f"{self._pattern.groups} group{'' if self._pattern.groups == 1 else 's'}"
            raise InvalidReplacement(f"${wanted} refers to a group, but the regular expression has {groups}")

    def apply(self, text: str) -> str:
        """Replace every occurrence in a text; raises InvalidReplacement where the pattern matches between characters."""
        if not self.regex:
            self._check_length(len(text) + text.count(self.find) * (len(self.replace) - len(self.find)))
            return text.replace(self.find, self.replace)
        pieces, end, length = [], 0, len(text)
        for start, stop, groups in self._pattern.occurrences(text):
            if start == stop:
                raise InvalidReplacement(_MATCHES_EMPTY_TEXT)
            pieces += [text[end:start], self._expand(groups)]
            length += len(pieces[-1])
            self._check_length(length)
            end = stop
        return "".join([*pieces, text[end:]]) if pieces else text

    def changed_fields(self, record: Record, fields: Iterable[str]) -> dict[str, object]:
        """Return the values that differ after replacing in these fields, by wire name."""
        before = editable_fields(record)
        values = {name: before[name] for name in fields if name in before}
        after = {name: self._apply_to_value(value) for name, value in values.items()}
        return {name: value for name, value in after.items() if value != values[name]}

    def _apply_to_value(self, value: object) -> object:
        return [self.apply(str(each)) for each in value] if isinstance(value, list) else self.apply(str(value))

    def _check_length(self, length: int) -> None:
        if length > MAX_LENGTH:
            raise InvalidReplacement(
                f"a text would have more than {MAX_LENGTH:,} characters, above every field's limit"
            )

    def _expand(self, groups: tuple[str | None, ...]) -> str:
        captured = sum(len(group or "") for group in groups)
        self._check_length(len(self.replace) + captured * self.replace.count("$"))
        return _REFERENCE.sub(lambda found: groups[int(found[1]) - 1] or "", self.replace)

    @cached_property
    def _pattern(self) -> Pattern:
        return find_pattern(self.find)


_MATCHES_EMPTY_TEXT = (
    "the regular expression matches the empty text, so it would match between any two characters; "
    "use + instead of *, or add text that every match contains"
)


def with_fields(record: Record, fields: Mapping[str, object]) -> Record:
    """Return the record with other values in some fields, by wire name."""
    whole = {**record.fields(), **fields}
    return redirect_of(whole) if isinstance(record, Redirect) else page_of(whole, _content_file(record))


def _content_file(record: Record) -> str:
    return record.content_file if isinstance(record, Page) else ""
