"""A compiled part holds everything of its file, and comes back from disk as it went."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.vocabulary import Kind
from gitstore.dump import Layout, new_file
from gitstore.part import Part, compile_part, dump_part, load_part
from gitstore.rule_file import load
from gitstore.sections import Damaged
from tests.gitstore import written


def _tuple(part: Part) -> tuple[object, ...]:
    numbers = (part.offsets, part.ids, part.keys, part.lines)
    return (
        part.kind,
        bytes(part.items),
        *map(list, numbers),
        part.patterns,
        part.hosts,
        part.target_hosts,
        part.extras,
        part.problems,
    )


@given(
    st.sampled_from(Kind).flatmap(lambda kind: st.tuples(st.just(kind), written.record_lists(kind))),
    st.sampled_from(["block", "flow"]),
)
def test_part_keeps_what_the_file_says(made: tuple[Kind, list[object]], layout: Layout) -> None:
    """Records one by one and all together, lines, ids and problems; before and after it was on disk."""
    kind, records = made
    data = new_file(kind, records, layout)  # type: ignore[arg-type] # records of the kind
    read = load(data, "")
    part = compile_part(data)
    for each in (part, load_part(dump_part(part))):
        assert each.records == read.records
        assert tuple(each.record(position) for position in range(len(each))) == read.records
        assert tuple(each.lines) == read.lines
        assert [f"{number:016x}" for number in each.ids] == [record.id for record in read.records]
        assert each.problems == read.problems
    assert _tuple(load_part(dump_part(part))) == _tuple(part)


@pytest.mark.parametrize(
    "data", [b"", b"redirects: []\n", b"pages:\n", b"redirects: [\n", b"\xff", b"{}\n", b"other: []\n"]
)
def test_files_without_rules_are_parts_too(data: bytes) -> None:
    """With their problems, where they have any."""
    part = compile_part(data)
    assert len(part) == 0
    assert part.records == ()
    assert _tuple(load_part(dump_part(part))) == _tuple(part)


def test_anything_else_is_damage() -> None:
    """Never an exception of another kind."""
    data = dump_part(compile_part(b"redirects: []\n"))
    for wrong in (b"", b"x", data[:-1], data + b"x", bytes(len(data))):
        with pytest.raises(Damaged):
            load_part(wrong)
