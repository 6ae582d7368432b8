"""Patched tables are equal to those that are built from all records."""

import sys
from collections.abc import Sequence
from types import FrameType

from hypothesis import given
from hypothesis import strategies as st

from content.records.record import Record, redirect_of
from content.records.vocabulary import Kind
from gitstore.compiled.segments.segment import dump_segment, segment_of
from gitstore.compiled.segments.segment_tables import build_tables, encode_item
from gitstore.compiled.segments.table_patch import patch_tables
from gitstore.yamlfiles.rule_file import RuleFile
from gitstore.yamlfiles.rule_window import count_equal_ends
from tests.gitstore.written import record_lists

_TARGETS = ("/t", "https://one.example/", "https://two.example/x", "/é b")
_FIELDS = {"type": "BASIC", "status": "FOUND"}


def _plain(count: int, targets: Sequence[str] = _TARGETS) -> list[Record]:
    types = ("BASIC", "BASIC_HOST", "REGEX")
    return [
        redirect_of(
            _FIELDS
            | {"type": types[at % 3], "target": targets[at % len(targets)], "note": "n" * (at % 2)}
            | {"source": f"host{at % 5}.example/{at}" if at % 3 == 1 else f"/{at}"}
        )
        for at in range(count)
    ]


def _segment(records: Sequence[Record]) -> bytes:
    return dump_segment(segment_of(_rules(records)))


def _rules(records: Sequence[Record]) -> RuleFile:
    return RuleFile(Kind.REDIRECTS, tuple(records), tuple(range(1, len(records) + 1)), ())


@given(record_lists(Kind.REDIRECTS), st.integers(0, 30), st.integers(0, 3))
def test_a_patched_segment_is_the_one_of_all_records(new: list[Record], place: int, removed: int) -> None:
    before = _plain(30)
    records = [*before[:place], *new, *before[place + removed :]]
    patched = segment_of(_rules(records), segment_of(_rules(before)))
    assert dump_segment(patched) == _segment(records)


@given(record_lists(Kind.PAGES, min_size=1), record_lists(Kind.PAGES), st.integers(0, 5))
def test_pages_are_patched_too(before: list[Record], new: list[Record], place: int) -> None:
    records = [*before[:place], *new, *before[place:]]
    tables = patch_tables(build_tables(before), before, records)
    assert tables == build_tables(records)


def test_hosts_that_no_record_names_any_more_are_left_out() -> None:
    before = _plain(40, ("/t",))
    before[20] = redirect_of(
        _FIELDS | {"type": "BASIC_HOST", "source": "only.example/a", "target": "https://gone.example/"}
    )
    records = [*before[:20], *before[21:]]
    tables = patch_tables(build_tables(before), before, records)
    assert tables == build_tables(records)
    assert "only.example" not in tables.hosts
    assert "gone.example" not in tables.target_hosts


def _count_encoded(rules: int) -> int:
    """Count the records that are encoded while one of so many changes."""
    before = _plain(rules)
    new = redirect_of(_FIELDS | {"source": "/n", "target": "/t"})
    tables, encoded = build_tables(before), 0

    def count(frame: FrameType, event: str, _: object) -> None:
        nonlocal encoded
        encoded += event == "call" and frame.f_code.co_name == encode_item.__name__

    sys.setprofile(count)
    try:
        patch_tables(tables, before, [*before[: rules // 2], new, *before[rules // 2 + 1 :]])
    finally:
        sys.setprofile(None)
    return encoded


def test_what_is_encoded_does_not_grow_with_the_file() -> None:
    assert 0 < _count_encoded(40) == _count_encoded(2_000)


def test_equal_ends_do_not_overlap() -> None:
    one = _plain(3, ("/t",))
    assert count_equal_ends(one, one) == (3, 0)
    assert count_equal_ends(one, [*one, one[2]]) == (3, 0)
    assert count_equal_ends([*one, one[2]], one) == (3, 0)
    assert count_equal_ends(one, [one[0], one[2]]) == (1, 1)
