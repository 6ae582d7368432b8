"""The columns of a table that an import leaves out, each named once."""

from collections.abc import Sequence
from typing import NamedTuple

from content.formats.spreadsheet import Layout
from content.records.nearness import nearest

_MOST = 100  # that are listed
_MAX_SHOWN = 100  # characters of a name
_NO_STATUS = 'no column is named "status", so each redirect gets 301'


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
        if "status" in missing and self.found and not any(each.message.endswith("?") for each in self.found):
            *others, last = self.found  # one of them may have the statuses
            self.found = (*others, last._replace(message=f"{last.message}; {_NO_STATUS}"))
        self._nameless = {column for column, name in layout.others.items() if not name}

    def read(self, texts: Sequence[str]) -> None:
        """Find the columns without a name in which a row has a text."""
        if not self._nameless or len(self.found) >= _MOST:
            return
        for column, text in enumerate(texts, 1):
            if column in self._nameless and text.strip():
                self._nameless.remove(column)
                message = f"column {column} has no name in the first line, and is not imported"
                self.found = (*self.found, UnusedColumn(column, "", message))


def _explain(name: str, fields: Sequence[str], missing: Sequence[str]) -> str:
    """Say that a column is not imported, and which name without a column it may mean."""
    text = f'the column "{name}" is not imported'
    if name.lower() in fields:
        return f"{text}: another column has this name"
    near = nearest(name, fields)
    return f'{text}; did you mean "{near}"?' if near in missing else text
