"""Search and replace in the fields of records: literal text, or RE2 with `$1` to `$9` in what comes in its place."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from content.diff import compared_fields
from content.pattern import Pattern, compile_pattern
from content.record import Page, Record, Redirect, page_of, redirect_of

FIELDS: Mapping[str, tuple[str, ...]] = {
    "redirect": ("source", "target", "note", "tags"),
    "page": ("path", "content", "note", "tags"),
}
"""The fields that hold text, of each kind of record."""
LONGEST = 4 << 20
"""Characters of one text after replacing: more than any field takes, and little enough to hold."""
_REFERENCE = re.compile(r"\$([1-9])")


class ReplacementRefused(ValueError):
    """What is sought or what comes in its place cannot be used; the message is a sentence."""


@dataclass(frozen=True)
class Replacement:
    """What is sought and what comes in its place."""

    find: str
    replace: str
    regex: bool = False

    def check(self) -> None:
        """Raise PatternRefused or ReplacementRefused where it cannot be carried out."""
        if not self.find:
            raise ReplacementRefused("there is nothing to look for")
        if not self.regex:
            return
        if self._pattern.captures("") is not None:
            raise ReplacementRefused(_MATCHES_NOTHING)
        wanted = max((int(number) for number in _REFERENCE.findall(self.replace)), default=0)
        if wanted > self._pattern.groups:
            groups = f"{self._pattern.groups} group{'' if self._pattern.groups == 1 else 's'}"
            raise ReplacementRefused(f"${wanted} stands for a group, and the regular expression has {groups}")

    def apply(self, text: str) -> str:
        """The text with every occurrence replaced; ReplacementRefused where the pattern matches between characters."""
        if not self.regex:
            self._bound(len(text) + text.count(self.find) * (len(self.replace) - len(self.find)))
            return text.replace(self.find, self.replace)
        pieces, end, length = [], 0, len(text)
        for start, stop, groups in self._pattern.occurrences(text):
            if start == stop:
                raise ReplacementRefused(_MATCHES_NOTHING)
            pieces += [text[end:start], self._expand(groups)]
            length += len(pieces[-1])
            self._bound(length)
            end = stop
        return "".join([*pieces, text[end:]]) if pieces else text

    def changed(self, record: Record, fields: Iterable[str]) -> dict[str, object]:
        """The values that differ after replacing in these fields, by wire name."""
        before = compared_fields(record)
        values = {name: before[name] for name in fields if name in before}
        after = {name: self._value(value) for name, value in values.items()}
        return {name: value for name, value in after.items() if value != values[name]}

    def _value(self, value: object) -> object:
        return [self.apply(str(each)) for each in value] if isinstance(value, list) else self.apply(str(value))

    def _bound(self, length: int) -> None:
        if length > LONGEST:
            raise ReplacementRefused(f"a text would have more than {LONGEST:,} characters; no field takes so many")

    def _expand(self, groups: tuple[str | None, ...]) -> str:
        caught = sum(len(group or "") for group in groups)
        self._bound(len(self.replace) + caught * self.replace.count("$"))
        return _REFERENCE.sub(lambda found: groups[int(found[1]) - 1] or "", self.replace)

    @cached_property
    def _pattern(self) -> Pattern:
        return compile_pattern(self.find)


_MATCHES_NOTHING = (
    "the regular expression matches the empty text, so it would match between any two characters; "
    "write + in place of *, or name what has to be there"
)


def with_fields(record: Record, fields: Mapping[str, object]) -> Record:
    """The record with other values in some fields, by wire name."""
    whole = {**record.fields(), **fields}
    return redirect_of(whole) if isinstance(record, Redirect) else page_of(whole, _content_file(record))


def _content_file(record: Record) -> str:
    return record.content_file if isinstance(record, Page) else ""
