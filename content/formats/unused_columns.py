"""The columns of a table that an import leaves out, each named once."""

import re
from collections.abc import Sequence
from itertools import islice, takewhile
from typing import NamedTuple

from content.formats.spreadsheet import Layout
from content.records.nearness import nearest

_MOST = 100  # that are listed
_MAX_SHOWN = 100  # characters of a name
_NO_STATUS = 'no column is named "status", so each redirect gets 301'
_MEANT_STATUS = 'did you mean "status"?'
_BETWEEN_WORDS = re.compile(r"[\s_-]+")
_USUAL_NAMES = {
    "source": ("from", "from url", "old", "old path", "old url", "path", "redirect from", "source path", "source url"),
    "target": (
        "to",
        "to url",
        "new",
        "new path",
        "new url",
        "destination",
        "destination url",
        "redirect to",
        "target url",
    ),
    "status": ("code", "http code", "http status", "http status code", "redirect code", "response code", "status code"),
    "note": ("comment", "comments", "description", "notes"),
    "tags": ("categories", "category", "label", "labels"),
}
_MEANINGS = {name: field for field, names in _USUAL_NAMES.items() for name in names}


class UnusedColumn(NamedTuple):
    """A column that is not imported: its place from 1, its name, and why."""

    column: int
    name: str
    message: str


class UnusedColumns:
    """The columns that are `found` as a table is read: one without a name only if a row has a text there."""

    def __init__(self, layout: Layout, fields: Sequence[str]) -> None:
        missing = [name for name, place in zip(fields, layout.places, strict=True) if place is None]
        named = [(column, name[:_MAX_SHOWN]) for column, name in layout.others.items() if name][:_MOST]
        self.found = tuple(UnusedColumn(column, name, _explain(name, fields, missing)) for column, name in named)
        if "status" in missing and self.found and not any(each.message.endswith(_MEANT_STATUS) for each in self.found):
            *others, last = self.found  # one of them may have the statuses
            end = f" {_NO_STATUS.capitalize()}" if last.message.endswith("?") else f"; {_NO_STATUS}"
            self.found = (*others, last._replace(message=f"{last.message}{end}"))
        self._nameless = sorted(column for column, name in layout.others.items() if not name)

    def read(self, texts: Sequence[str]) -> None:
        """Find the columns without a name in which a row has a text."""
        room = _MOST - len(self.found)
        if room <= 0:
            return
        within = takewhile(lambda column: column <= len(texts), self._nameless)
        new = list(islice((column for column in within if texts[column - 1].strip()), room))
        if new:
            taken = set(new)
            self._nameless = [column for column in self._nameless if column not in taken]
            self.found = (*self.found, *map(_nameless_column, new))


def meant_field(name: str, fields: Sequence[str]) -> str:
    """Return the field that a name of a column means, by its words or nearly; empty without one."""
    return _MEANINGS.get(_BETWEEN_WORDS.sub(" ", name[:_MAX_SHOWN]).strip().lower()) or nearest(name, fields)


def _nameless_column(column: int) -> UnusedColumn:
    return UnusedColumn(column, "", f"column {column} has no name in the first line, and is not imported")


def _explain(name: str, fields: Sequence[str], missing: Sequence[str]) -> str:
    """Say that a column is not imported, and which name without a column it may mean."""
    text = f'the column "{name}" is not imported'
    if name.lower() in fields:
        return f"{text}: another column has this name"
    near = meant_field(name, fields)
    return f'{text}; did you mean "{near}"?' if near in missing else text
