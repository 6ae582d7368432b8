"""The line of a problem with a marker below it, for a terminal."""

import re
from typing import NamedTuple
from unicodedata import combining, east_asian_width

from content.records.printable import escape_unprintable

_QUOTED = r'"(?:[^"\\]|\\.)*"?|\'(?:[^\']|\'\')*\'?'
# The name or value at a column: up to a colon, a comment or the end of the line; in brackets also up to these.
_IN_BLOCK = re.compile(rf"{_QUOTED}|(?:(?!\s*$|:(?:\s|$)|\s+#).)+")
_IN_BRACKETS = re.compile(rf"{_QUOTED}|(?:(?!\s*[,\]}}]|\s*$|:(?:\s|$)|\s+#).)+")
_OPENED = re.compile(r"^\s*(?:- *)*[{\[]|:\s+[{\[]")
_WHOLE = re.compile(r"\s*(?:- +)*(.*?)\s*$")
_LEAST_WIDTH = 20
_ELLIPSIS = "…"


class Excerpt(NamedTuple):
    """A line as it is shown: `before` and `marked` are parts of it, with the width of each; unprintable text is escaped."""

    before: str
    marked: str
    after: str

    @property
    def text(self) -> str:
        """The line."""
        return self.before + self.marked + self.after

    @property
    def marker(self) -> str:
        """The line below, with a caret below each column of the marked part."""
        return " " * _width(self.before) + "^" * max(_width(self.marked), 1)


def excerpt(line: str, column: int, width: int) -> Excerpt:
    """Return the line of a problem, cut to a width; the marked part is at `column`, or the whole line for 0."""
    start, end = _span(line, column)
    parts = (_shown(line[:start]), _shown(line[start:end]), _shown(line[end:]))
    return _cut(Excerpt(*parts), max(width, _LEAST_WIDTH))


def _span(line: str, column: int) -> tuple[int, int]:
    if not column:
        found = _WHOLE.match(line)
        return found.span(1) if found else (0, len(line))
    start = min(column - 1, len(line))
    if line[start : start + 1] in {"{", "["}:
        return start, len(line.rstrip())
    name = (_IN_BRACKETS if _OPENED.search(line[:start]) else _IN_BLOCK).match(line, start)
    return start, name.end() if name else start


def _shown(text: str) -> str:
    return escape_unprintable(text.replace("\t", " "))


def _cut(shown: Excerpt, width: int) -> Excerpt:
    """Cut a line that is too long, so that the start of the marked part is visible."""
    if _width(shown.text) <= width:
        return shown
    before = shown.before
    if _width(before) > width // 2:
        before = _ELLIPSIS + _tail(before, width // 4)
    marked = _head(shown.marked, width - _width(before))
    return Excerpt(before, marked, _head(shown.after, width - _width(before) - _width(marked)))


def _head(text: str, width: int) -> str:
    if _width(text) <= width:
        return text
    while text and _width(text) > width - 1:
        text = text[: min(len(text) - 1, width)]
    return text + _ELLIPSIS if width > 0 else ""


def _tail(text: str, width: int) -> str:
    text = text[-width:]
    while _width(text) > width:
        text = text[1:]
    return text


def _width(text: str) -> int:
    """Return the number of columns on a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1 for sign in text)
