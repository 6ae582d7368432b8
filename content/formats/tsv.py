"""Redirects as tab-separated text: the bulk import's rows, read strictly and checked one by one, and the export.

There is no quoting: a quote is an ordinary character, so no row can swallow the next. With any other header than the exact
one, or in UTF-16, the file is a table of a spreadsheet, which can also have notes and tags.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from content.checks.pattern_budget import CallBudget, is_pattern
from content.checks.record_rules import PLAIN_SOURCE, PLAIN_TARGET, record_problems
from content.formats.annotations import (
    MAX_NOTE_LENGTH,
    MAX_TAG_LENGTH,
    MAX_TAGS,
    annotation_problems,
    dump_tags,
    parse_tags,
)
from content.formats.spreadsheet import (
    MAX_BREAKS,
    MAX_RECORD_LINES,
    UTF_16_MARKS,
    Layout,
    TableRow,
    find_layout,
    header_names,
    read_table,
    utf8_chunks,
)
from content.formats.unused_columns import UnusedColumn, UnusedColumns, meant_field
from content.records.pattern_limits import DEFAULT_LIMITS
from content.records.problem import Problem, errors
from content.records.record import Redirect
from content.records.vocabulary import STATUS_BY_WORD, RedirectType

COLUMNS = ("type", "source", "target", "status")
FIELDS = (*COLUMNS, "note", "tags")  # of a table
PLACES: tuple[int, ...] = (1, 2, 3, 4, 0, 0)  # of these in a line; 0 for none
_REQUIRED = ("source", "target")
_MAX_SHOWN = 200  # characters of an invalid row
_MAX_NAMES = 100  # of a header, in which the usual ones are sought
_HEADER = "\t".join(COLUMNS).encode()
_DEFAULTS = {"type": "BASIC", "status": "301"}
_NOTE, _TAGS = FIELDS.index("note"), FIELDS.index("tags")
MAX_FIELD_LENGTH = 8192  # characters, as the schema of a redirect allows
MAX_ROWS = 1_000_000
# Problems of the file as a whole: the last `Row` reports one, and is not a row of the file.
FILE_PROBLEM_CODES = frozenset({"bad_header", "too_many_rows", "unclosed_quote"})
# Bytes: source, target, note and tags at four a character, and room for the rest.
_MAX_LINE_BYTES = 4 * (2 * MAX_FIELD_LENGTH + MAX_NOTE_LENGTH + MAX_TAGS * (MAX_TAG_LENGTH + 2)) + 1024
_BOM = b"\xef\xbb\xbf"
_CHUNK = 1 << 16
_TYPE_BY_WORD = {each.value: each for each in RedirectType}
# Nearly every row: an exact rule for a path, of which one match shows that `record_problems` has nothing to say.
_PLAIN_ROW = re.compile(rf"BASIC\t({PLAIN_SOURCE})\t({PLAIN_TARGET})\t([A-Z0-9_]+)")
_NEEDS_QUOTES = re.compile(r'[\t\r\n"]|^ ')
_LONE_BYTE = re.compile("[\ud800-\udfff]")
_FAULTS = {
    "too_long": f"the line has more than {_MAX_LINE_BYTES:,} bytes",
    "bad_quote": 'a quote is at the wrong place: a field with quotes is between quotes, and has each of its own twice ("")',
    "unclosed_quote": f"a quote begins a field here that is not closed within {MAX_RECORD_LINES:,} lines or "
    f'{_MAX_LINE_BYTES:,} bytes: close it, or remove it, or write the field between quotes and the quote twice ("")',
}
_ALLOWED_VALUES: dict[str, Collection[str]] = {"type": _TYPE_BY_WORD, "status": STATUS_BY_WORD}


class Row(NamedTuple):
    """A row: its line from 1, and its redirect, or None and its problems (errors only).

    `columns` are the places of its fields, and `text` is the start of an invalid one. `unused` are the columns of the table
    that are not imported, as far as it is read: one without a name is among them once a row has a text there. A table without rows that
    has such columns has one row for its header, with neither a redirect nor problems.
    """

    line: int
    fields: Redirect | None
    problems: tuple[Problem, ...] = ()
    columns: tuple[int, ...] = PLACES
    text: str = ""
    unused: tuple[UnusedColumn, ...] = ()

    @property
    def has_note(self) -> bool:
        """True where the file has a column for notes."""
        return self.columns[_NOTE] > 0

    @property
    def has_tags(self) -> bool:
        """True where the file has a column for tags."""
        return self.columns[_TAGS] > 0


def read_rows(
    data: bytes | Iterable[bytes], max_rows: int = MAX_ROWS, budget: CallBudget | None = None
) -> Iterator[Row]:
    """Yield the rows of a file, given whole or in chunks of any size; memory is bounded by the longest line.

    Lines end with LF or CRLF; a byte order mark and empty lines are skipped. Where the header is invalid, there are
    more rows than `max_rows`, or a quote is never closed, the last row reports that. Regular expressions beyond the budget
    are invalid rows.
    """
    budget = budget or CallBudget(DEFAULT_LIMITS)
    start, chunks = _take_start(_chunks(data))
    lines = enumerate(_lines(utf8_chunks(chunks)), 1)
    header, text = next(_with_text_only(lines), (1, b""))
    text = text.removeprefix(_BOM)
    is_exact = text == _HEADER and not start.startswith(UTF_16_MARKS)
    layout = None if is_exact else find_layout(text, FIELDS, COLUMNS, _REQUIRED)
    if not (is_exact or layout):
        yield _invalid_row(header, _header_problem(text))
        return
    rows = _read_table(header, lines, layout, budget) if layout else _read_lines(lines, budget)
    for read, row in enumerate(rows):
        if read == max_rows and not any(problem.code in FILE_PROBLEM_CODES for problem in row.problems):
            message = f"the file has more than {max_rows:,} rows: split it"
            yield _invalid_row(row.line, _problem("too_many_rows", 1, message))
            return
        yield row


def write_rows(redirects: Iterable[Redirect]) -> Iterator[bytes]:
    """Yield the header and a row for each redirect, in UTF-8; `read_rows` is the inverse.

    If one has a note or tags, it is a table with columns for them, and quoted fields where they need it; else it is in the
    strict format. Raises ValueError where source or target hold a tab or a line break, which no accepted redirect does.
    """
    rules = list(redirects)
    has_more = any(each.note or each.tags for each in rules)
    yield _dump_line(FIELDS if has_more else COLUMNS)
    for rule in rules:
        texts = (rule.type.value, rule.source, rule.target, rule.status.value)
        yield _dump_table_line(texts, rule.note, dump_tags(rule.tags)) if has_more else _dump_line(texts)


def column_of(problem: Problem, columns: Sequence[int] = PLACES) -> int:
    """Return the column, from 1, of the field in a problem's pointer; that of the source for any other pointer."""
    return columns[FIELDS.index(field_of(problem) or "source")]


def field_of(problem: Problem) -> str:
    """Return the name of the field in a problem's pointer, or an empty text."""
    name = problem.pointer.rpartition("/")[2]
    return name if name in FIELDS else ""


def _dump_line(fields: tuple[str, ...]) -> bytes:
    _require_one_line(fields)
    return ("\t".join(fields) + "\n").encode()


def _dump_table_line(fields: tuple[str, ...], *others: str) -> bytes:
    _require_one_line(fields)
    return ("\t".join(map(_quote, (*fields, *others))) + "\n").encode()


def _require_one_line(fields: tuple[str, ...]) -> None:
    if any(mark in field for field in fields for mark in "\t\r\n"):
        raise ValueError(f"a tab-separated field cannot contain a tab or a line break: {fields!r}")


def _quote(text: str) -> str:
    """Return a field of a table, between quotes where it would be read otherwise without them."""
    return '"{}"'.format(text.replace('"', '""')) if _NEEDS_QUOTES.search(text) else text


def _take_start(chunks: Iterable[bytes]) -> tuple[bytes, Iterable[bytes]]:
    """Return the start of a file, in which a byte order mark would be, and all chunks, of which the first has it."""
    rest, start = iter(chunks), b""
    while len(start) < len(_BOM) and (chunk := next(rest, None)) is not None:
        start += chunk
    return start, chain([start], rest)


def _chunks(data: bytes | Iterable[bytes]) -> Iterable[bytes]:
    if isinstance(data, bytes):
        return (data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK))
    return data


def _with_text_only(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    """Yield each line that is not empty, with its number, without its end."""
    for line, raw in lines:
        if text := raw.removesuffix(b"\r"):
            yield line, text


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the text between line feeds; a line that is too long is cut just above the limit."""
    rest = bytearray()
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest += first[: _MAX_LINE_BYTES + 1 - len(rest)]
        for other in others:
            yield bytes(rest)
            rest[:] = other[: _MAX_LINE_BYTES + 1]
    yield bytes(rest)


def _header_problem(text: bytes) -> Problem:
    if text.startswith(b"PK\x03\x04"):
        return _problem("bad_header", 1, "the file is a workbook or an archive: save the sheet as text (CSV)")
    expected = (
        "the first line must be the header type, source, target, status, separated by tabs, commas or semicolons; "
        "source and target are needed"
    )
    found = text[:200].decode(errors="backslashreplace")
    if not found:
        return _problem("bad_header", 1, f"{expected}; the file is empty")
    return _problem("bad_header", 1, f"{expected}; found {found!r}{_advise_names(header_names(text))}")


def _advise_names(names: Sequence[str]) -> str:
    """Say which columns may be the source and target of a header without them."""
    present = {name.lower() for name in names}
    meant = {meant_field(name, FIELDS): name for name in reversed(names[:_MAX_NAMES])}
    wanted = [
        f'"{meant[field][:_MAX_SHOWN]}" to {field}' for field in _REQUIRED if field in meant and field not in present
    ]
    return f": rename {' and '.join(wanted)}" if wanted else ""


def _parse_row(line: int, raw: bytes, budget: CallBudget) -> Row:
    if len(raw) > _MAX_LINE_BYTES:
        return _invalid_row(line, _problem("too_long", 1, f"the line has more than {_MAX_LINE_BYTES:,} bytes"))
    try:
        text = raw.decode()
    except UnicodeDecodeError as ex:
        return _invalid_row(line, _encoding_problem(raw, ex.start))
    if plain := _plain_redirect(text):
        return Row(line, plain)
    return _parse_fields(line, text.split("\t"), budget)


def shorten_row(text: str) -> str:
    """Return the start of a row, as reports show it."""
    return f"{text[:_MAX_SHOWN]}…" if len(text) > _MAX_SHOWN else text


def _with_text(row: Row, text: str) -> Row:
    return row if row.fields else row._replace(text=shorten_row(text))


def _plain_redirect(text: str) -> Redirect | None:
    plain = _PLAIN_ROW.fullmatch(text) if len(text) <= MAX_FIELD_LENGTH else None
    status = STATUS_BY_WORD.get(plain[3]) if plain else None
    return Redirect(RedirectType.BASIC, plain[1], plain[2], status) if plain and status else None


def _read_table(header: int, lines: Iterator[tuple[int, bytes]], layout: Layout, budget: CallBudget) -> Iterator[Row]:
    """Yield the rows of a table of a spreadsheet."""
    is_empty = True
    columns = tuple(_column(name, place) for name, place in zip(FIELDS, layout.places, strict=True))
    unused = UnusedColumns(layout, FIELDS)
    for read in read_table(lines, layout, layout.places[_NOTE], _MAX_LINE_BYTES):
        is_empty = False
        unused.read(read.fields)
        row = _table_row(read, layout, budget)
        problems = tuple(
            replace(each, column=column_of(each, columns)) if field_of(each) else each for each in row.problems
        )
        shown = layout.delimiter.join(read.fields).encode(errors="surrogateescape").decode(errors="replace")
        yield _with_text(row._replace(problems=problems, columns=columns, unused=unused.found), shown)
    if is_empty and unused.found:
        yield Row(header, None, columns=columns, unused=unused.found)


def _column(name: str, place: int | None) -> int:
    """Return the column of a field, from 1: the first one for a type or status that no column has, 0 for a note or tags."""
    return place + 1 if place is not None else int(name in COLUMNS)


def _read_lines(lines: Iterator[tuple[int, bytes]], budget: CallBudget) -> Iterator[Row]:
    """Yield the rows of the strict format."""
    for line, raw in _with_text_only(lines):
        row = _parse_row(line, raw, budget)
        yield row if row.fields else _with_text(row, raw[: 4 * _MAX_SHOWN].decode(errors="replace"))


def _table_row(read: TableRow, layout: Layout, budget: CallBudget) -> Row:
    if read.fault:
        code = "bad_quote" if read.fault == "long_field" else read.fault
        return _invalid_row(read.line, _problem(code, 1, _explain_fault(read)))
    if any(read.fields[layout.width :]):
        text = f"the header has {layout.width} fields, this row {len(read.fields)}: quote a field that has a separator"
        return _invalid_row(read.line, _problem("wrong_columns", layout.width + 1, text))
    texts = [
        _table_field(name, "" if place is None or place >= len(read.fields) else read.fields[place])
        for name, place in zip(FIELDS, layout.places, strict=True)
    ]
    for name, text in zip(FIELDS, texts, strict=True):
        if lone := _LONE_BYTE.search(text):
            return _invalid_row(read.line, _not_utf8(ord(lone[0]) & 0xFF, name))
    *fields, note, tags = texts
    plain = _plain_redirect("\t".join(fields))
    row = Row(read.line, plain) if plain else _parse_fields(read.line, fields, budget)
    return _annotate(row, note, parse_tags(tags)) if note or tags else row


def _explain_fault(read: TableRow) -> str:
    begin, end = read.quote
    if read.fault in {"too_long", "unclosed_quote"} or read.line == begin == end:
        return _FAULTS[read.fault]
    if read.line != begin:
        return f"this line is in the row of the quote that begins in line {begin}: correct it there"
    more = f" (only the note may have more than {MAX_BREAKS} line breaks)" if read.fault == "long_field" else ""
    advice = 'close it before, or remove it, or write the field between quotes and the quote twice ("")'
    return f"a quote begins a field here that goes on to line {end}{more}: {advice}"


def _annotate(row: Row, note: str, tags: tuple[str, ...]) -> Row:
    """Return a row with the note and tags of its redirect, or with their problems."""
    if found := [each.at("", row.line, 1) for each in annotation_problems(note, tags)]:
        return row._replace(fields=None, problems=(*row.problems, *found))
    return row._replace(fields=replace(row.fields, note=note, tags=tags)) if row.fields else row


def _table_field(name: str, text: str) -> str:
    """Return a field as the strict format has it: the case of types and names of a status does not matter in a table."""
    return text.strip().upper() or _DEFAULTS[name] if name in _DEFAULTS else text


def _parse_fields(line: int, texts: list[str], budget: CallBudget) -> Row:
    if found := _shape_problems(texts):
        return _invalid_row(line, *found)
    redirect = Redirect(_TYPE_BY_WORD[texts[0]], texts[1], texts[2], STATUS_BY_WORD[texts[3]])
    found = budget.spend(redirect.source)[:1] if is_pattern(redirect) else []
    found = found or errors(record_problems(redirect))
    if found:
        return Row(line, None, tuple(each.at("", line, column_of(each)) for each in found))
    return Row(line, redirect)


def _invalid_row(line: int, *problems: Problem) -> Row:
    return Row(line, None, tuple(problem.at("", line, problem.column) for problem in problems))


def _shape_problems(texts: list[str]) -> list[Problem]:
    if len(texts) != len(COLUMNS):
        column = min(len(texts), len(COLUMNS)) + 1
        return [_problem("wrong_columns", column, f"a row has 4 fields separated by tabs; this one has {len(texts)}")]
    return [problem for column, text in enumerate(texts, 1) for problem in _field_problems(column, text)]


def _field_problems(column: int, text: str) -> Iterator[Problem]:
    name = COLUMNS[column - 1]
    if len(text) > MAX_FIELD_LENGTH:
        message = f"{name} has {len(text):,} characters; the limit is {MAX_FIELD_LENGTH:,}"
        yield _problem("too_long", column, message, name)
    elif name in _ALLOWED_VALUES and text not in _ALLOWED_VALUES[name]:
        message = f"{name} must be one of {', '.join(_ALLOWED_VALUES[name])}; found {text[:100]!r}"
        yield _problem("not_allowed", column, message, name)


def _encoding_problem(raw: bytes, start: int) -> Problem:
    column = raw.count(b"\t", 0, start) + 1
    return replace(_not_utf8(raw[start], COLUMNS[min(column, len(COLUMNS)) - 1]), column=column)


def _not_utf8(byte: int, name: str) -> Problem:
    column = FIELDS.index(name) + 1
    return _problem("bad_encoding", column, f"byte 0x{byte:02X} is not UTF-8: save the file as UTF-8", name)


def _problem(code: str, column: int, message: str, field: str = "") -> Problem:
    return Problem(code, message, column=column, pointer=f"/{field}" if field else "")
