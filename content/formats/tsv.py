"""Redirects as tab-separated text: the bulk import's rows, read strictly and checked one by one, and the export.

There is no quoting: a quote is an ordinary character, so no row can swallow the next.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from content.checks.pattern_budget import CallBudget, is_pattern
from content.checks.record_rules import PLAIN_SOURCE, PLAIN_TARGET, record_problems
from content.records.pattern_limits import DEFAULT_LIMITS
from content.records.problem import Problem, errors
from content.records.record import Redirect
from content.records.vocabulary import STATUS_BY_WORD, RedirectType

COLUMNS = ("type", "source", "target", "status")
MAX_FIELD_LENGTH = 8192  # characters, as the schema of a redirect allows
MAX_ROWS = 1_000_000
# Problems of the file as a whole: the last `Row` reports one, and is not a row of the file.
FILE_PROBLEM_CODES = frozenset({"bad_header", "too_many_rows"})
_MAX_LINE_BYTES = 2 * 4 * MAX_FIELD_LENGTH + 1024  # bytes: source and target at four each, and room for the rest
_BOM = b"\xef\xbb\xbf"
_CHUNK = 1 << 16
_TYPE_BY_WORD = {each.value: each for each in RedirectType}
# Nearly every row: an exact rule for a path, of which one match shows that `record_problems` has nothing to say.
_PLAIN_ROW = re.compile(rf"BASIC\t({PLAIN_SOURCE})\t({PLAIN_TARGET})\t([A-Z0-9_]+)")
_ALLOWED_VALUES: dict[str, Collection[str]] = {"type": _TYPE_BY_WORD, "status": STATUS_BY_WORD}


class Row(NamedTuple):
    """A row: its line from 1, and its redirect, or None and its problems (errors only)."""

    line: int
    fields: Redirect | None
    problems: tuple[Problem, ...] = ()


def read_rows(
    data: bytes | Iterable[bytes], max_rows: int = MAX_ROWS, budget: CallBudget | None = None
) -> Iterator[Row]:
    """Yield the rows of a file, given whole or in chunks of any size; memory is bounded by the longest line.

    Lines end with LF or CRLF; a byte order mark and empty lines are skipped. Where the header is invalid, or there are
    more rows than `max_rows`, the last row reports that. Regular expressions beyond the budget are invalid rows.
    """
    budget = budget or CallBudget(DEFAULT_LIMITS)
    lines = _numbered_lines(_chunks(data))
    header, text = next(lines, (1, b""))
    if header_problem := _header_problem(text.removeprefix(_BOM)):
        yield _invalid_row(header, header_problem)
        return
    for read, (line, raw) in enumerate(lines):
        if read == max_rows:
            yield _invalid_row(
                line, _problem("too_many_rows", 1, f"the file has more than {max_rows:,} rows: split it")
            )
            return
        yield _parse_row(line, raw, budget)


def write_rows(redirects: Iterable[Redirect]) -> Iterator[bytes]:
    """Yield the header and a line for each redirect, in UTF-8; `read_rows` is the inverse, except for notes and tags.

    Raises ValueError where a field holds a tab or a line break, which no accepted redirect does.
    """
    yield _dump_line(COLUMNS)
    for redirect in redirects:
        yield _dump_line((redirect.type.value, redirect.source, redirect.target, redirect.status.value))


def column_of(problem: Problem) -> int:
    """Return the column, from 1, of the field in a problem's pointer; that of the source for any other pointer."""
    name = problem.pointer.rpartition("/")[2]
    return COLUMNS.index(name if name in COLUMNS else "source") + 1


def _dump_line(fields: tuple[str, ...]) -> bytes:
    if any(mark in field for field in fields for mark in "\t\r\n"):
        raise ValueError(f"a tab-separated field cannot contain a tab or a line break: {fields!r}")
    return ("\t".join(fields) + "\n").encode()


def _chunks(data: bytes | Iterable[bytes]) -> Iterable[bytes]:
    if isinstance(data, bytes):
        return (data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK))
    return data


def _numbered_lines(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield each line that is not empty, with its number from 1, without its end."""
    for line, raw in enumerate(_lines(chunks), 1):
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


def _header_problem(text: bytes) -> Problem | None:
    names = text.split(b"\t")
    if names == [name.encode() for name in COLUMNS]:
        return None
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _problem("bad_header", 1, "the file is UTF-16: save it as UTF-8")
    if text.startswith(b"PK\x03\x04"):
        return _problem("bad_header", 1, "the file is a workbook or an archive: save the sheet as tab-delimited text")
    expected = "the first line must be the header type, source, target, status, separated by tabs"
    found = text[:200].decode(errors="backslashreplace")
    hint = "; here commas or semicolons separate the columns" if len(names) == 1 and {*b",;"} & {*text} else ""
    return _problem(
        "bad_header", 1, f"{expected}{hint}; found {found!r}" if found else f"{expected}; the file is empty"
    )


def _parse_row(line: int, raw: bytes, budget: CallBudget) -> Row:
    if len(raw) > _MAX_LINE_BYTES:
        return _invalid_row(line, _problem("too_long", 1, f"the line has more than {_MAX_LINE_BYTES:,} bytes"))
    try:
        text = raw.decode()
    except UnicodeDecodeError as ex:
        return _invalid_row(line, _encoding_problem(raw, ex.start))
    plain = _PLAIN_ROW.fullmatch(text) if len(text) <= MAX_FIELD_LENGTH else None
    if plain and (status := STATUS_BY_WORD.get(plain[3])):
        return Row(line, Redirect(RedirectType.BASIC, plain[1], plain[2], status))
    return _parse_fields(line, text.split("\t"), budget)


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
        yield _problem("too_long", column, f"{name} has {len(text):,} characters; the limit is {MAX_FIELD_LENGTH:,}")
    elif name in _ALLOWED_VALUES and text not in _ALLOWED_VALUES[name]:
        yield _problem(
            "not_allowed", column, f"{name} must be one of {', '.join(_ALLOWED_VALUES[name])}; found {text[:100]!r}"
        )


def _encoding_problem(raw: bytes, start: int) -> Problem:
    column = raw.count(b"\t", 0, start) + 1
    return _problem("bad_encoding", column, f"byte 0x{raw[start]:02X} is not UTF-8: save the file as UTF-8")


def _problem(code: str, column: int, message: str) -> Problem:
    return Problem(code, message, column=column)
