"""Tables as spreadsheets write them: fields between commas, semicolons or tabs, which may be quoted, in UTF-8 or UTF-16."""

import csv
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

MAX_RECORD_LINES = 2_100  # of one row: a note can have 2,000 line breaks
MAX_BREAKS = 100  # of one row without its note: more are those that a stray quote takes
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_DELIMITERS = "\t;,"


class Layout(NamedTuple):
    """The columns of a table: what separates them, how many there are, and where those with a name are, if anywhere.

    `others` has the names of the other columns, by their place from 1.
    """

    delimiter: str
    width: int
    places: tuple[int | None, ...]
    others: Mapping[int, str]


class TableRow(NamedTuple):
    """A row of a table: the line where it begins, and its fields, or the name of the fault why it has none.

    `quote` is the first and last line of the field whose quote is at fault.
    """

    line: int
    fields: Sequence[str]
    fault: str = ""
    quote: tuple[int, int] = (0, 0)


def utf8_chunks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a file's bytes in UTF-8, if it begins with the mark of UTF-16; else yield them as they are.

    What is no character becomes bytes that are not UTF-8.
    """
    decoder = None
    for index, chunk in enumerate(chunks):
        if index == 0 and chunk.startswith(UTF_16_MARKS):
            decoder = getincrementaldecoder("utf-16")("surrogatepass")
        yield decoder.decode(chunk).encode("utf-8", "surrogatepass") if decoder else chunk
    if decoder and decoder.getstate()[0]:
        yield b"\xff"


def as_utf8(data: bytes) -> bytes:
    """Return a file in UTF-8, if it begins with the mark of UTF-16; else return it as it is."""
    return b"".join(utf8_chunks([data])) if data.startswith(UTF_16_MARKS) else data


def header_names(header: bytes) -> list[str]:
    """Return the names in a header, between whichever separator it has most."""
    text = header.decode(errors="replace")
    delimiter = max(_DELIMITERS, key=text.count)
    return [name.strip(' "') for name in text.split(delimiter)]


def find_layout(header: bytes, names: Sequence[str], single: Sequence[str], required: Iterable[str]) -> Layout | None:
    """Return where the columns with these names are, in any order and case; the first one, if there are more.

    None without the required ones, or where one of the `single` ones is there twice.
    """
    text = header.decode(errors="replace")
    for delimiter in _DELIMITERS:
        try:
            found = next(csv.reader([text], delimiter=delimiter, skipinitialspace=True), [])
        except csv.Error:
            continue
        written = [each.strip() for each in found]
        found = [each.lower() for each in written]
        if all(found.count(name) <= 1 for name in single) and all(name in found for name in required):
            places = tuple(found.index(name) if name in found else None for name in names)
            others = {at: name for at, name in enumerate(written, 1) if at - 1 not in places}
            return Layout(delimiter, len(found), places, others)
    return None


def read_table(
    lines: Iterator[tuple[int, bytes]], layout: Layout, note: int | None, max_bytes: int
) -> Iterator[TableRow]:
    """Yield the rows of a table without the empty ones; a quote that is never closed ends it.

    `note` is the place of the field that may have very many line breaks. A quote at fault is in each line that it takes, so
    none is left out without a word. A byte that is not UTF-8 is a lone surrogate in its field.
    """
    source = _Lines(lines, max_bytes)
    reader = csv.reader(source, delimiter=layout.delimiter, skipinitialspace=True, strict=True)
    while True:
        source.begin_row()
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error:
            quote = (source.first + _count_breaks_before_fault(source.text, layout.delimiter), source.last)
            if source.is_over:
                yield TableRow(quote[0], (), "unclosed_quote", quote)
                return
            yield from source.refuse("too_long" if source.is_cut else "bad_quote", quote)
            continue
        if source.is_cut:
            yield TableRow(source.first, (), "too_long")
        elif len(source.texts) > MAX_BREAKS and (fault := _find_long_field(fields, layout, note)):
            breaks = [each.count("\n") for each in fields]
            begin = source.first + sum(breaks[: fault.place])
            yield from source.refuse(fault.name, (begin, begin + breaks[fault.place]))
        elif any(fields):
            yield TableRow(source.first, fields)


def _count_breaks_before_fault(text: str, delimiter: str) -> int:
    """Return the number of line breaks before the first field of a row whose quotes are at fault."""
    whole = rf'(?:(?: *"(?:[^"]|"")*+"|(?! *")[^{delimiter}\n]*+){delimiter})*+'
    found = re.match(whole, text)
    return text.count("\n", 0, found.end()) if found else 0


class _LongField(NamedTuple):
    """A field with more line breaks than are its own: its place, and the name of the fault."""

    place: int
    name: str


def _find_long_field(fields: Sequence[str], layout: Layout, note: int | None) -> _LongField | None:
    """Return the field of a row of many lines in which a stray quote has taken other rows, if there is one."""
    breaks = {place: text.count("\n") for place, text in enumerate(fields) if place != note}
    if sum(breaks.values()) > MAX_BREAKS:
        return _LongField(max(breaks, key=breaks.__getitem__), "long_field")
    if note is None or note >= len(fields) or fields[note].count("\n") <= MAX_BREAKS:
        return None
    _, *inner, _ = fields[note].split("\n")
    looks_like_rows = all(line.count(layout.delimiter) == layout.width - 1 for line in inner)
    return _LongField(note, "bad_quote") if looks_like_rows else None


class _Lines:
    """The lines of a table as texts, as many as a row may have; `lines` are the numbers of those with text."""

    def __init__(self, lines: Iterator[tuple[int, bytes]], max_bytes: int) -> None:
        self._lines = lines
        self._max_bytes = max_bytes
        self.begin_row()

    def begin_row(self) -> None:
        """Begin another row."""
        self.lines: list[int] = []
        self.texts: list[str] = []
        self._bytes = 0
        self.is_cut = False  # a line was too long
        self.is_over = False  # the row did not end where it had to

    @property
    def first(self) -> int:
        """The first line of the row."""
        return self.lines[0]

    @property
    def last(self) -> int:
        """The last line of the row that was read."""
        return self.first + len(self.texts) - 1

    @property
    def text(self) -> str:
        """The text of the row, as far as it was read."""
        return "".join(self.texts)

    def refuse(self, fault: str, quote: tuple[int, int]) -> Iterator[TableRow]:
        """Yield each line with text of the row as one with a fault."""
        return (TableRow(line, (), fault, quote) for line in self.lines)

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        is_full = len(self.texts) == MAX_RECORD_LINES or self._bytes > self._max_bytes
        found = None if is_full else next(self._lines, None)
        if found is None:
            self.is_over = bool(self.lines)
            raise StopIteration
        line, raw = found
        if raw.strip(b"\r"):
            self.lines.append(line)
        self._bytes += len(raw)
        self.is_cut = self.is_cut or len(raw) > self._max_bytes
        self.texts.append(raw.decode(errors="surrogateescape") + "\n")
        return self.texts[-1]
