"""Tables of spreadsheets: separators, quotes, encodings, and columns in any order, besides the strict format."""

import tracemalloc
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.formats.import_plan import plan_import
from content.formats.spreadsheet import as_utf8
from content.formats.tsv import Row, read_rows
from content.records.record import Redirect
from content.records.vocabulary import RedirectStatus, RedirectType

RULE = Redirect(RedirectType.BASIC, "/a", "/b", RedirectStatus.MOVED_PERMANENT)
TABLE = 'Target,Status,Note,Source\n"/b",302,"two\nlines, and ""quotes""",/a\n'


def redirects_of(data: bytes) -> list[Redirect | None]:
    """Return the redirects of a file."""
    return [row.fields for row in read_rows(data)]


@pytest.mark.parametrize(
    "data",
    [
        b"source,target\n/a,/b\n",
        b"source;target\n/a;/b\n",
        b"source\ttarget\n/a\t/b\n",
        b" Source , TARGET \r\n/a, /b\r\n",
        b"target,source\n/b,/a",
        b'"type","source","target","status"\n"basic","/a","/b","moved_permanent"\n',
        b'"type"\t"source"\t"target"\t"status"\nBASIC\t"/a"\t"/b"\t301\n',
        b"status;source;type;target\n;/a;;/b\n",
        b"source,note,target\n/a,,/b,,\n,,\n",
        b"\xef\xbb\xbfsource,target\n/a,/b\n",
        "source\ttarget\n/a\t/b\n".encode("utf-16"),
        "\ufeffsource,target\r\n/a,/b\r\n".encode("utf-16-be"),
        'type\tsource\ttarget\tstatus\nBASIC\t"/a"\t/b\t301\n'.encode("utf-16"),
    ],
)
def test_the_tables_of_spreadsheets_are_read(data: bytes) -> None:
    assert redirects_of(data) == [RULE]


@given(st.binary() | st.binary().map(b"source,target\n".__add__) | st.text().map(lambda text: text.encode("utf-16")))
def test_no_table_is_too_strange_to_be_checked(data: bytes) -> None:
    for row in read_rows(data):
        assert (row.fields is None) == bool(row.problems)
        assert all(problem.line == row.line and problem.column >= 1 for problem in row.problems)


@given(st.lists(st.integers(0, 200), max_size=8), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_where_the_chunks_of_a_table_end_does_not_matter(ends: list[int], encoding: str) -> None:
    whole = TABLE.replace("/b", "/é").encode(encoding)
    cuts = [0, *sorted(ends), len(whole)]
    chunks = [whole[start:end] for start, end in pairwise(cuts)]
    assert list(read_rows(chunks)) == list(read_rows(whole))
    assert as_utf8(whole).decode("utf-8-sig") == TABLE.replace("/b", "/é")


def test_a_quoted_field_has_separators_quotes_and_line_breaks() -> None:
    rows = list(read_rows(TABLE.encode() + b'"/x/$1",,,"/c"\n'))
    assert [(row.line, row.fields and row.fields.target) for row in rows] == [(2, "/b"), (4, "/x/$1")]
    [regex] = redirects_of(b'type,source,target\nregex,"^/a{1,2}""$",/b\n')
    assert regex is not None
    assert regex.source == '^/a{1,2}"$'


@pytest.mark.parametrize(
    ("line", "column", "field", "code", "part"),
    [
        (b"301,/a b,/a", 2, "target", "target_character", "space"),
        (b"301,/b,a", 3, "source", "missing_slash", ""),
        (b"999,/b,/a", 1, "status", "not_allowed", "found '999'"),
        (b"301,/\xff,/a", 2, "target", "bad_encoding", "0xFF"),
        (b"301,=1+1,/a", 2, "target", "", ""),
        (b"301,/b,/a,c", 4, "", "wrong_columns", "quote a field"),
        (b'301,"/b"c,/a', 1, "", "bad_quote", "between quotes"),
        (b"301,/" + b"b" * 100_000 + b",/a", 1, "", "too_long", "the line has more than"),
        (b"301,/b,/z", 3, "source", "duplicate_source", "line 2"),
    ],
)  # fmt: skip
def test_an_error_names_line_column_and_field(line: bytes, column: int, field: str, code: str, part: str) -> None:
    plan = plan_import({}, read_rows(b"status,target,source\n301,/y,/z\n" + line + b"\n301,/y,/w\n"), overwrite=False)
    report: Any = plan.report()
    [error] = report["errors"]
    assert (error["line"], error["column"], error.get("field", "")) == (3, column, field)
    assert error["code"] == code or not code
    assert part in error["message"]
    assert [row.line for row in plan.added] == [2, 4]


def test_a_quote_that_is_not_closed_ends_the_file_with_words() -> None:
    rows = list(read_rows(b'source,target\n/a,/b\n/c,"/d\n' + b"/e,/f\n" * 1000))
    assert rows[0].fields == RULE
    assert [(problem.line, problem.code) for problem in rows[-1].problems] == [(3, "unclosed_quote")]
    assert plan_import({}, rows, overwrite=False).is_unreadable


def test_each_line_that_a_stray_quote_takes_is_named() -> None:
    """So none of them is left out of an import without a word."""
    rows = list(read_rows(b'source,target\n/a,"/b\n/c,/d\n/e,"/f"\n/g,/h\n'))
    assert [(row.line, [each.code for each in row.problems]) for row in rows[:3]] == [
        (line, ["bad_quote"]) for line in (2, 3, 4)
    ]
    assert [row.fields.source for row in rows if row.fields] == ["/g"]


_TAKEN = "".join(f"/c{number},/d,x,y,\n" for number in range(101))


@pytest.mark.parametrize(
    "row",
    [
        '"/a,/b,x,y,\n{}/e"",/f,x,y,"\n',
        '"/a,/b,x,y,\n{}/e",/f,x,y,\n',
        '/a,/b,"19 inches,y,\n{}/e,/f,19",y,\n',
        '/a,/b,x,"19 inches,\n{}/e,/f,x,19",\n',
        '/a,/b,x,y,"shop\n{}/e,/f,x,y,shop"\n',
    ],
)
def test_a_stray_quote_that_takes_very_many_lines_is_an_error_in_any_column(row: str) -> None:
    """Also in a column that is not imported, and in a note, where whole rows are no text that a person wrote."""
    table = "source,target,note,Owner,tags\n/y,/z,,,\n" + row.format(_TAKEN) + "/g,/h,,,\n"
    rows = list(read_rows(table.encode()))
    assert [row.fields.source for row in rows if row.fields] == ["/y", "/g"]
    wrong = [problem for row in rows for problem in row.problems]
    assert [(each.line, each.code) for each in wrong] == [(line, "bad_quote") for line in range(3, 3 + 103)]
    assert "a quote begins a field here that goes on to line 105" in wrong[0].message
    assert "remove it" in wrong[0].message
    assert all("the quote that begins in line 3: correct it there" in each.message for each in wrong[1:])


def test_the_error_of_a_quote_is_in_the_line_where_it_begins() -> None:
    """A row before it in which fields have line breaks of their own is no reason to name another line."""
    start = 'source,note,Owner,target\n/a,"two\nlines, and ""quotes""",'
    rows = list(read_rows(f'{start}"me" too,/b\n/c,,,/d\n'.encode()))
    assert [(row.line, "line 3" in row.problems[0].message) for row in rows[:2]] == [(2, True), (3, False)]
    assert rows[2].fields
    [row] = read_rows(f'{start}"me,/b\n/c,,,/d\n'.encode())
    assert (row.line, row.problems[0].code) == (3, "unclosed_quote")
    [*rows] = read_rows((start + '"' + "me\n" * 101 + '",/b\n').encode())
    assert "line 3" in rows[0].problems[0].message
    assert "goes on to line 104 (only the note" in rows[1].problems[0].message


def test_a_long_note_and_a_hundred_line_breaks_elsewhere_are_read() -> None:
    note, owner = "a, b\n" * 400, "\n" * 100
    [row] = read_rows(f'source,target,note,Owner\n/a,/b,"{note}","{owner}"\n'.encode())
    assert row.fields
    assert row.fields.note == note


def test_memory_stays_small_whatever_a_table_holds() -> None:
    tracemalloc.start()
    try:
        rows = list(read_rows(_endless_quote()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows[-1].problems
    assert peak < 4_000_000


def _endless_quote() -> Iterator[bytes]:
    yield b'source,target\n"'
    for _ in range(1000):
        yield b"a" * 64_000 + b'","\n'


def test_the_strict_format_has_no_quotes() -> None:
    assert list(read_rows(b'type\tsource\ttarget\tstatus\nBASIC\t"/a\t/b\t301\nBASIC\t/a\t/b\t301\n'))[1] == Row(
        3, RULE
    )
