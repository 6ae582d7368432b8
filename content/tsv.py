"""Redirects as tab-separated text: the bulk import's rows, read strictly and judged one by one, and the export.

There is no quoting: a quote is a character like any other, so no row can swallow the next.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from content.problem import Problem, errors
from content.record import Redirect
from content.record_rules import record_problems
from content.vocabulary import STATUS_BY_WORD, RedirectType

COLUMNS = ("type", "source", "target", "status")
LONGEST_FIELD = 8192  # characters, as the schema of a redirect allows
MOST_ROWS = 1_000_000
FILE_CODES = frozenset({"bad_header", "too_many_rows"})
"""The codes of what is wrong with the file as a whole, where the last `Row` is no row of it."""
_LONGEST_LINE = 2 * 4 * LONGEST_FIELD + 1024  # bytes: source and target at four each, and room for the rest
_BOM = b"\xef\xbb\xbf"
_CHUNK = 1 << 16
_TYPE_BY_WORD = {each.value: each for each in RedirectType}
_WORDS: dict[str, Collection[str]] = {"type": _TYPE_BY_WORD, "status": STATUS_BY_WORD}


class Row(NamedTuple):
    """One row: its line from 1, and the redirect it holds, or None and what is wrong with it (errors only)."""

    line: int
    fields: Redirect | None
    problems: tuple[Problem, ...] = ()


def read_rows(data: bytes | Iterable[bytes], most_rows: int = MOST_ROWS) -> Iterator[Row]:
    """The rows of a file, given whole or in chunks of any size; memory is bounded by the longest line.

    Lines end with LF or CRLF; a byte order mark and lines without a character are passed over. Where the header is
    wrong, or there are more rows than `most_rows`, a row that says so is the last.
    """
    lines = _numbered_lines(_chunks(data))
    header, text = next(lines, (1, b""))
    if wrong := _header_problem(text.removeprefix(_BOM)):
        yield _wrong(header, wrong)
        return
    for read, (line, raw) in enumerate(lines):
        if read == most_rows:
            yield _wrong(line, _problem("too_many_rows", 1, f"the file has more than {most_rows:,} rows: split it"))
            return
        yield _row(line, raw)


def write_rows(redirects: Iterable[Redirect]) -> Iterator[bytes]:
    """The header and one line for each redirect, in UTF-8; `read_rows` reads the same again (notes and tags stay behind).

    Raises ValueError where a field holds a tab or a line break, which no accepted redirect does.
    """
    yield _line(COLUMNS)
    for redirect in redirects:
        yield _line((redirect.type.value, redirect.source, redirect.target, redirect.status.value))


def column_of(problem: Problem) -> int:
    """The column, from 1, of the field that a problem's pointer names; that of the source where it names none."""
    name = problem.pointer.rpartition("/")[2]
    return COLUMNS.index(name if name in COLUMNS else "source") + 1


def _line(fields: tuple[str, ...]) -> bytes:
    if any(mark in field for field in fields for mark in "\t\r\n"):
        raise ValueError(f"a tab or a line break cannot stand in a tab-separated field: {fields!r}")
    return ("\t".join(fields) + "\n").encode()


def _chunks(data: bytes | Iterable[bytes]) -> Iterable[bytes]:
    if isinstance(data, bytes):
        return (data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK))
    return data


def _numbered_lines(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Each line that holds something, with its number from 1, without its end."""
    for line, raw in enumerate(_lines(chunks), 1):
        if text := raw.removesuffix(b"\r"):
            yield line, text


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The text between line feeds; of a line that is too long only so much that it is seen to be."""
    rest = bytearray()
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest += first[: _LONGEST_LINE + 1 - len(rest)]
        for other in others:
            yield bytes(rest)
            rest[:] = other[: _LONGEST_LINE + 1]
    yield bytes(rest)


def _header_problem(text: bytes) -> Problem | None:
    names = text.split(b"\t")
    if names == [name.encode() for name in COLUMNS]:
        return None
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        return _problem("bad_header", 1, "the file is UTF-16: save it as UTF-8")
    expected = "the first line must be the header type, source, target, status, separated by tabs"
    found = text[:200].decode(errors="backslashreplace")
    hint = "; here commas or semicolons separate the columns" if len(names) == 1 and {*b",;"} & {*text} else ""
    return _problem(
        "bad_header", 1, f"{expected}{hint}; found {found!r}" if found else f"{expected}; the file is empty"
    )


def _row(line: int, raw: bytes) -> Row:
    if len(raw) > _LONGEST_LINE:
        return _wrong(line, _problem("too_long", 1, f"the line has more than {_LONGEST_LINE:,} bytes"))
    try:
        texts = raw.decode().split("\t")
    except UnicodeDecodeError as ex:
        return _wrong(line, _encoding_problem(raw, ex.start))
    if found := _shape_problems(texts):
        return _wrong(line, *found)
    redirect = Redirect(_TYPE_BY_WORD[texts[0]], texts[1], texts[2], STATUS_BY_WORD[texts[3]])
    found = errors(record_problems(redirect))
    if found:
        return Row(line, None, tuple(each.at("", line, column_of(each)) for each in found))
    return Row(line, redirect)


def _wrong(line: int, *problems: Problem) -> Row:
    return Row(line, None, tuple(problem.at("", line, problem.column) for problem in problems))


def _shape_problems(texts: list[str]) -> list[Problem]:
    if len(texts) != len(COLUMNS):
        column = min(len(texts), len(COLUMNS)) + 1
        return [_problem("wrong_columns", column, f"a row has 4 fields separated by tabs, this one has {len(texts)}")]
    return [problem for column, text in enumerate(texts, 1) for problem in _field_problems(column, text)]


def _field_problems(column: int, text: str) -> Iterator[Problem]:
    name = COLUMNS[column - 1]
    if len(text) > LONGEST_FIELD:
        yield _problem("too_long", column, f"{name} has {len(text):,} characters, at most {LONGEST_FIELD:,} may stand")
    elif name in _WORDS and text not in _WORDS[name]:
        yield _problem("not_allowed", column, f"{name} must be one of {', '.join(_WORDS[name])}; found {text[:100]!r}")


def _encoding_problem(raw: bytes, start: int) -> Problem:
    column = raw.count(b"\t", 0, start) + 1
    return _problem("bad_encoding", column, f"byte 0x{raw[start]:02X} is not UTF-8 here: save the file as UTF-8")


def _problem(code: str, column: int, message: str) -> Problem:
    return Problem(code, message, column=column)
