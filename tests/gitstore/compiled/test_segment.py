"""A compiled segment holds everything of its file, and reads back from disk unchanged."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.records.record import Redirect
from content.records.vocabulary import Kind
from gitstore.compiled.segments.sections import Damaged
from gitstore.compiled.segments.segment import Segment, compile_segment, dump_segment, load_segment, segment_of
from gitstore.compiled.segments.segment_tables import build_tables
from gitstore.yamlfiles.dump import Layout, new_file
from gitstore.yamlfiles.rule_file import load
from tests.content.rules import redirects
from tests.gitstore import written
from tests.gitstore.fixtures import redirect


def _tuple(segment: Segment) -> tuple[object, ...]:
    numbers = (segment.offsets, segment.ids, segment.keys, segment.lines)
    return (
        segment.kind,
        bytes(segment.items),
        *map(list, numbers),
        segment.patterns,
        segment.hosts,
        segment.target_hosts,
        segment.extras,
        segment.problems,
    )


@given(
    st.sampled_from(Kind).flatmap(lambda kind: st.tuples(st.just(kind), written.record_lists(kind))),
    st.sampled_from(["block", "flow"]),
)
def test_segment_keeps_the_records_of_the_file(made: tuple[Kind, list[object]], layout: Layout) -> None:
    """Records one by one and all together, lines, ids and problems are equal before and after the file is on disk."""
    kind, records = made
    data = new_file(kind, records, layout)  # type: ignore[arg-type] # records of the kind
    read = load(data, "")
    segment = compile_segment(data)
    for each in (segment, load_segment(dump_segment(segment))):
        assert each.records == read.records
        assert tuple(each.record(position) for position in range(len(each))) == read.records
        assert tuple(each.lines) == read.lines
        assert [f"{number:016x}" for number in each.ids] == [record.id for record in read.records]
        assert each.problems == read.problems
    assert _tuple(load_segment(dump_segment(segment))) == _tuple(segment)


@given(st.lists(st.sampled_from("abc"), max_size=8), st.sampled_from("abcd"))
def test_all_records_with_an_id_are_found(names: list[str], wanted: str) -> None:
    """A push can bring a source more than once in a file."""
    rules = [redirect(f"/{name}") for name in names]
    segment = compile_segment(new_file(Kind.REDIRECTS, rules))
    found = list(segment.positions(redirect(f"/{wanted}").id))
    assert found == [place for place, name in enumerate(names) if name == wanted]
    assert segment.position(redirect(f"/{wanted}").id) == next(iter(found), None)


@pytest.mark.parametrize(
    "data", [b"", b"redirects: []\n", b"pages:\n", b"redirects: [\n", b"\xff", b"{}\n", b"other: []\n"]
)
def test_files_without_rules_are_segments_too(data: bytes) -> None:
    """A file without rules is a segment with its problems."""
    segment = compile_segment(data)
    assert len(segment) == 0
    assert segment.records == ()
    assert _tuple(load_segment(dump_segment(segment))) == _tuple(segment)


def test_anything_else_is_damage() -> None:
    """Damage raises no exception of another type."""
    data = dump_segment(compile_segment(b"redirects: []\n"))
    for wrong in (b"", b"x", data[:-1], data + b"x", bytes(len(data))):
        with pytest.raises(Damaged):
            load_segment(wrong)


def test_a_parsed_file_gives_the_segment_that_its_bytes_give() -> None:
    """The path in the problems of the parsed file does not get into the segment."""
    data = b"redirects:\n- {type: BASIC, source: /a, target: /b, status: 302}\n- {type: BASIC, source: /c}\n"
    parsed = segment_of(load(data, "shop/redirects.yaml"))
    assert dump_segment(parsed) == dump_segment(compile_segment(data))
    assert [problem.file for problem in parsed.problems] == ["" for _ in parsed.problems] != []


@given(st.lists(redirects(), max_size=4))
def test_the_items_of_a_segment_are_the_records_as_agents_get_them(rules: list[Redirect]) -> None:
    tables = build_tables(rules)
    assert bytes(tables.items) == b"".join(orjson.dumps(rule.wire()) + b"," for rule in rules)
    assert list(tables.ids) == [int(rule.id, 16) for rule in rules]
    assert list(tables.extras) == [at for at, rule in enumerate(rules) if rule.note or rule.tags]
