"""The line of a problem with a marker: the right part is marked, and the line fits the terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.formats.excerpt import excerpt


def marked(line: str, column: int, width: int = 80) -> str:
    """Return the part of the shown line above the carets."""
    found = excerpt(line, column, width)
    start = len(found.marker) - len(found.marker.lstrip())
    return found.text[start : len(found.marker)]


@pytest.mark.parametrize(
    ("line", "at", "wanted"),
    [
        ("    source: old", "old", "old"),
        ("    source: old # a comment", "old", "old"),
        ("    source: 'it''s' # x", "'it", "'it''s'"),
        ('    source: "a \\" b" # x', '"a', '"a \\" b"'),
        ("    weight: 3", "weight", "weight"),
        ("    source: /a:b#c  ", "/a", "/a:b#c"),
        ("  - {type: BASIC, source: old, target: /b}", "old", "old"),
        ('  - {"type": "BASIC", "source": "old"}', '"old"', '"old"'),
        ("    tags: [a, b]", "b]", "b"),
        ("  - {type: BASIC}  ", "{type", "{type: BASIC}"),
        ("    source: a, b]", "a,", "a, b]"),
    ],
)
def test_the_name_or_value_at_the_column_is_marked(line: str, at: str, wanted: str) -> None:
    assert marked(line, line.index(at) + 1) == wanted


@pytest.mark.parametrize("line", ["  - {type: BASIC}  ", "{type: BASIC}", "  -   {type: BASIC}"])
def test_a_problem_without_a_column_marks_the_rule(line: str) -> None:
    assert marked(line, 0) == "{type: BASIC}"


def test_wide_characters_take_two_columns_and_tabs_one() -> None:
    assert excerpt("\t設定: é", 6, 80).marker == "       ^"
    assert excerpt("\x1b[1mx", 1, 80).text == "\\x1b[1mx"


def test_a_long_line_is_cut_around_the_marked_part() -> None:
    line = "  - {" + "a: b, " * 100 + "source: old, " + "c: d, " * 100 + "}"
    found = excerpt(line, line.index("old") + 1, 60)
    assert len(found.text) <= 60
    assert found.text[found.marker.index("^") :].startswith("old")
    assert (found.text[0], found.text[-1]) == ("…", "…")


@given(st.text(max_size=200), st.integers(0, 220), st.integers(0, 120))
def test_any_line_is_shown_within_the_width_with_a_marker(line: str, column: int, width: int) -> None:
    found = excerpt(line, column, width)
    assert found.text.isprintable()
    assert set(found.marker) <= {" ", "^"}
    assert "^" in found.marker
    assert len(found.text) <= max(width, 20)
