"""Reading and writing tab-separated redirects: strict, line by line, and read back unchanged."""

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.checks.record_rules import record_problems
from content.formats.tsv import MAX_FIELD_LENGTH, Row, column_of, read_rows, write_rows
from content.records.problem import Problem, errors
from content.records.record import Redirect
from content.records.vocabulary import STATUS_BY_WORD, RedirectStatus, RedirectType
from tests.content.rules import redirects
from tests.redirect_lists import LISTS, STATUS_NAMES, read_list

HEADER = b"type\tsource\ttarget\tstatus\n"
GOOD = b"BASIC\t/a\t/b\t301\n"
PARSED = Redirect(RedirectType.BASIC, "/a", "/b", RedirectStatus.MOVED_PERMANENT)
BOM = b"\xef\xbb\xbf"


def only_row(line: bytes) -> Row:
    """Return the one row of a file with a valid header."""
    (row,) = read_rows(HEADER + line)
    return row


@given(st.lists(redirects()))
def test_what_is_written_is_read_again(rules: list[Redirect]) -> None:
    valid = [rule for rule in rules if not errors(record_problems(rule))]
    rows = list(read_rows(write_rows(valid)))
    assert [row.fields for row in rows] == valid
    assert [row.line for row in rows] == list(range(2, len(valid) + 2))


@given(
    st.lists(st.sampled_from([b"BASIC\t/a\t/b\t301", b"\xff", b"", b"\r", b"\t", "REGEX\t^/é\t/b\t308\r".encode()])),
    st.data(),
)
def test_where_the_chunks_of_an_upload_end_does_not_matter(lines: list[bytes], data: st.DataObject) -> None:
    whole = HEADER + b"\n".join(lines)
    ends = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    chunks = [whole[start:end] for start, end in zip([0, *ends], [*ends, len(whole)], strict=True)]
    assert list(read_rows(chunks)) == list(read_rows(whole))


@given(
    st.binary()
    | st.binary().map(HEADER.__add__)
    | st.text().map(lambda text: HEADER + b"BASIC\t" + text.encode(errors="replace"))
)
def test_no_input_is_too_strange_to_be_checked(data: bytes) -> None:
    """Every row is either a valid redirect or a problem with its line and column."""
    for row in read_rows(data):
        assert (row.fields is None) == bool(row.problems)
        assert row.fields is None or not errors(record_problems(row.fields))
        assert all(problem.line == row.line and 1 <= problem.column <= 5 for problem in row.problems)


@pytest.mark.parametrize("name", LISTS)
def test_lists_come_out_as_they_went_in_but_for_rows_that_are_named_as_invalid(name: str) -> None:
    data = read_list(name)
    lines = data.splitlines(keepends=True)
    rows = list(read_rows(data))
    assert len(rows) == len(lines) - 1
    good = [row for row in rows if row.fields]
    assert len(good) > 0.95 * len(rows)
    written = list(write_rows(row.fields for row in good if row.fields))
    assert written == [HEADER, *(_as_exported(lines[row.line - 1]) for row in good)]


def _as_exported(line: bytes) -> bytes:
    """Return a line with the name of its status and the line end of exports."""
    *fields, status = line.decode().rstrip("\r\n").split("\t")
    return "\t".join([*fields, STATUS_NAMES.get(status, status)]).encode() + b"\n"


@pytest.mark.parametrize(
    "data",
    [
        HEADER + GOOD,
        BOM + HEADER + GOOD,
        (HEADER + GOOD).replace(b"\n", b"\r\n"),
        HEADER + GOOD.removesuffix(b"\n"),
        HEADER + GOOD + b"\n\r\n",
    ],
    ids=["plain", "byte order mark", "CRLF", "no end of the last line", "blank lines at the end"],
)
def test_what_editors_and_spreadsheets_add_is_passed_over(data: bytes) -> None:
    assert list(read_rows(data)) == [Row(2, PARSED)]


@pytest.mark.parametrize("word", [*STATUS_BY_WORD])
def test_a_status_is_a_name_or_a_number(word: str) -> None:
    row = only_row(b"BASIC\t/a\t/b\t" + word.encode())
    assert row.fields is not None
    assert row.fields.status is STATUS_BY_WORD[word]


def test_quotes_are_characters_like_any_other() -> None:
    """An opening quote that is never closed does not swallow the rows below it."""
    rows = list(read_rows(HEADER + b'BASIC\t"/a\t/b\t301\n' + GOOD))
    assert [row.fields for row in rows] == [None, PARSED]
    regex = only_row(b'REGEX\t^/"a"$\t/b\t301')
    assert regex.fields is not None
    assert regex.fields.source == '^/"a"$'


@pytest.mark.parametrize(
    ("line", "column", "code", "part"),
    [
        (b"BASIC\t/a\t/b", 4, "wrong_columns", "this one has 3"),
        (b"BASIC", 2, "wrong_columns", "this one has 1"),
        (b"BASIC\t/a\t/b\t301\t", 5, "wrong_columns", "this one has 5"),
        (b"BASIC,/a,/b,301", 2, "wrong_columns", "separated by tabs"),
        (b"basic\t/a\t/b\t301", 1, "not_allowed", "type must be one of BASIC, BASIC_HOST, REGEX, REGEX_HOST; found 'basic'"),
        (b"BASIC\t/a\t/b\t303", 4, "not_allowed", "301, 302, 307, 308; found '303'"),
        (b"BASIC\t/a\t/b\t 301", 4, "not_allowed", "found ' 301'"),
        (b"BASIC\t/\xff\t/b\t301", 2, "bad_encoding", "0xFF is not UTF-8"),
        (b"BASIC\t/a\t/\xed\xa0\x80\t301", 3, "bad_encoding", "save the file as UTF-8"),
        (b"BASIC\t/a\x00\t/b\t301", 2, "control_character", "U+0000"),
        (b"BASIC\t/a\r\t/b\t301", 2, "control_character", "U+000D"),
        (b"BASIC\t/a\t/\xc2\x85\t301", 3, "control_character", "U+0085"),
        (b"REGEX\t^/(?=a)\t/b\t301", 2, "bad_regex", "RE2"),
        (b"BASIC\t\t/b\t301", 2, "missing_slash", ""),
        (b"BASIC\t/a\t\t301", 3, "bad_target", ""),
        (b"BASIC\t/a\t/" + b"b" * MAX_FIELD_LENGTH + b"\t301", 3, "too_long", "target has 8,193 characters"),
        (b"BASIC\t/" + b"a" * 100_000 + b"\t/b\t301", 1, "too_long", "the line has more than"),
    ],
)  # fmt: skip
def test_an_invalid_row_is_reported_with_its_place_and_the_next_row_is_read(
    line: bytes, column: int, code: str, part: str
) -> None:
    wrong, right = read_rows(HEADER + line + b"\n" + GOOD)
    assert [(problem.line, problem.column, problem.code) for problem in wrong.problems] == [(2, column, code)]
    assert part in wrong.problems[0].message
    assert len(wrong.problems[0].message) < 500
    assert right == Row(3, PARSED)


def test_all_problems_of_a_row_are_reported_at_once() -> None:
    assert [(problem.column, problem.code) for problem in only_row(b"A\t/a\t/b\tB").problems] == [
        (1, "not_allowed"),
        (4, "not_allowed"),
    ]
    assert [problem.column for problem in only_row(b"BASIC\ta\tb\t301").problems] == [2, 3]


def test_a_warning_does_not_make_a_row_invalid() -> None:
    assert record_problems(only_row(b"BASIC\t/a?b\t/b\t301").fields or PARSED)


def test_the_longest_field_that_the_schema_allows_is_accepted() -> None:
    """The limit counts characters, also if each takes four bytes."""
    long = "/" + "\N{WORLD MAP}" * (MAX_FIELD_LENGTH - 1)
    row = only_row(f"BASIC\t{long}\t{long}\tPERMANENT_REDIRECT".encode())
    assert row.fields is not None
    assert row.fields.source == long


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "the file is empty"),
        (b"\n\r\n", "the file is empty"),
        (GOOD, "found 'BASIC"),
        (b"type\tsource\tstatus\n" + GOOD, "must be the header type, source, target, status"),
        (b"from,to\n/a,/b\n", "source and target are needed"),
        (b"source,target,Source\n/a,/b,/c\n", "found 'source,target,Source'"),
        (b"type source target status\n" + GOOD, "separated by tabs, commas or semicolons"),
        (b"PK\x03\x04\x14\x00\x06\x00\n", "save the sheet as text (CSV)"),
        (b"\xff" * 100_000, "found '\\\\xff"),
    ],
)  # fmt: skip
def test_without_the_header_nothing_is_read(data: bytes, part: str) -> None:
    (row,) = read_rows(data)
    assert [problem.code for problem in row.problems] == ["bad_header"]
    assert part in row.problems[0].message
    assert len(row.problems[0].message) < 1200


def test_reading_stops_at_the_highest_number_of_rows() -> None:
    rows = list(read_rows(HEADER + GOOD * 4, max_rows=3))
    assert [row.fields for row in rows] == [PARSED, PARSED, PARSED, None]
    assert [(problem.line, problem.code) for problem in rows[3].problems] == [(5, "too_many_rows")]
    assert len(list(read_rows(HEADER + GOOD * 3, max_rows=3))) == 3


def test_memory_stays_small_whatever_the_file_holds() -> None:
    """An upload of 64 MB without a line break keeps nothing beyond the longest line in memory."""
    tracemalloc.start()
    try:
        rows = list(read_rows(_endless_line()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [problem.code for row in rows for problem in row.problems] == ["too_long"]
    assert peak < 2_000_000


def _endless_line() -> Iterator[bytes]:
    yield HEADER
    for _ in range(1000):
        yield b"a" * 64_000


@pytest.mark.parametrize("mark", ["\t", "\n", "\r"])
def test_a_field_that_would_break_the_table_is_not_written(mark: str) -> None:
    rule = Redirect(RedirectType.BASIC, f"/a{mark}b", "/b", RedirectStatus.FOUND)
    with pytest.raises(ValueError, match="tab or a line break"):
        list(write_rows([rule]))


def test_the_column_of_a_problem_is_that_of_its_field() -> None:
    pointers = ["/type", "/source", "/target", "/status", "/redirects/4/target", ""]
    assert [column_of(Problem("code", "message", pointer=pointer)) for pointer in pointers] == [1, 2, 3, 4, 3, 2]


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"", 1), (b"\n\n", 1), (b"\n\nno header\n", 3), (HEADER + GOOD * 4, 5)],
    ids=["empty", "blank", "header", "rows"],
)
def test_problem_of_the_whole_file_is_at_the_first_column_of_a_line(data: bytes, line: int) -> None:
    *_, last = read_rows(data, max_rows=3)
    assert [(problem.line, problem.column) for problem in last.problems] == [(line, 1)]
    assert last.line == line
