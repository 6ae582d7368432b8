"""Rows as text: each is read as it was appended, and many take little memory."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.formats.import_plan import plan_import
from content.formats.packed_rows import PackedRows
from content.formats.tsv import Row, read_rows
from content.records.record import Redirect
from content.records.vocabulary import RedirectStatus, RedirectType

_TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
_NOTES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_REDIRECTS = st.builds(
    Redirect,
    st.sampled_from(RedirectType),
    _TEXTS,
    _TEXTS,
    st.sampled_from(RedirectStatus),
    _NOTES,
    st.lists(_NOTES, max_size=2).map(tuple),
)


@given(st.lists(_REDIRECTS))
def test_rows_are_read_as_they_were_appended(redirects: list[Redirect]) -> None:
    rows = [Row(line, redirect) for line, redirect in enumerate(redirects, 5)]
    packed = PackedRows()
    for row in rows:
        packed.append(row)
    assert list(packed) == rows == [packed[at] for at in range(len(rows))]
    assert list(packed.sources()) == [(each.type, each.source) for each in redirects]
    assert packed[1:] == rows[1:]
    assert packed[-1:] == rows[-1:]
    assert [packed.find_line(row.line) for row in rows] == rows
    assert packed.find_line(4) is None
    assert packed.find_line(len(rows) + 5) is None


def test_an_invalid_row_is_refused() -> None:
    with pytest.raises(ValueError, match="no redirect"):
        PackedRows().append(Row(2, None))


def test_a_plan_takes_little_more_than_the_file() -> None:
    """A row is held once, as text: its line, its place and the hash of its source take some 130 bytes more."""
    count = 20_000
    lines = (b"BASIC\t/old/%06d\t/new/%06d\tFOUND\n" % (number, number) for number in range(count))
    data = b"type\tsource\ttarget\tstatus\n" + b"".join(lines)
    tracemalloc.start()
    try:
        plan = plan_import({}, read_rows(data), overwrite=False)
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(plan.added) == count
    assert held < len(data) + 200 * count
    assert most < len(data) + 300 * count
