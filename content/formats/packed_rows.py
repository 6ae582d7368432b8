"""Rows of an import in little memory: the text of each one, from which its redirect is built again when it is read."""

import json
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from content.computed_sequence import ComputedSequence
from content.formats.tsv import Row
from content.records.record import Redirect
from content.records.vocabulary import STATUS_BY_WORD, TYPE_BY_NAME, RedirectType

_FIELDS = 4  # of every row; a row for a redirect with a note or tags has these as well


class PackedRows(ComputedSequence[Row]):
    """Valid rows, appended in the order of the file: a million take some 130 MB, a third of what the objects take.

    No accepted field of a file has a tab, so a tab separates them here too.
    """

    def __init__(self) -> None:
        self._texts = bytearray()
        self._ends = array("Q", [0])
        self._lines = array("Q")

    def append(self, row: Row) -> None:
        """Append a valid row."""
        redirect = row.fields
        if redirect is None:
            raise ValueError("an invalid row has no redirect")
        fields: tuple[str, ...] = (redirect.type, redirect.source, redirect.target, redirect.status)
        if redirect.note or redirect.tags:
            fields = (*fields, json.dumps([redirect.note, redirect.tags]))
        self._texts += "\t".join(fields).encode()
        self._ends.append(len(self._texts))
        self._lines.append(row.line)

    def find_line(self, line: int) -> Row | None:
        """Return the row of a line, or None if it is not here."""
        at = bisect_left(self._lines, line)
        return self[at] if at < len(self) and self._lines[at] == line else None

    def __len__(self) -> int:
        return len(self._lines)

    def build(self, index: int) -> Row:
        """Build a row from its text."""
        return Row(self._lines[index], _unpack(self._texts[self._ends[index] : self._ends[index + 1]]))

    def __iter__(self) -> Iterator[Row]:
        texts, start = self._texts, 0
        for line, end in zip(self._lines, self._ends[1:], strict=True):
            yield Row(line, _unpack(texts[start:end]))
            start = end

    def sources(self) -> Iterator[tuple[RedirectType, str]]:
        """Yield type and source of each row, without building its redirect."""
        texts, start = self._texts, 0
        for end in self._ends[1:]:
            type_, source, _ = texts[start:end].decode().split("\t", 2)
            yield TYPE_BY_NAME[type_], source
            start = end

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as of every sequence that can grow


def _unpack(text: bytearray) -> Redirect:
    type_, source, target, status, *rest = text.decode().split("\t", _FIELDS)
    if not rest:
        return Redirect(TYPE_BY_NAME[type_], source, target, STATUS_BY_WORD[status])
    note, tags = json.loads(rest[0])
    return Redirect(TYPE_BY_NAME[type_], source, target, STATUS_BY_WORD[status], note, tuple(tags))
