"""The container of compiled files: sections read back as written, or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitstore.compiled.segments.sections import (
    Chunk,
    Damaged,
    checksum_chunk,
    dump_sections,
    load_section,
    load_sections,
)

sections = st.dictionaries(st.text(max_size=5), st.lists(st.binary(max_size=20), max_size=3), max_size=4)


@given(sections)
def test_what_is_written_is_read(written: dict[str, list[bytes]]) -> None:
    """Every section is joined and begins on an 8-byte boundary."""
    data = dump_sections(written)
    found = load_sections(memoryview(data))
    assert {name: bytes(view) for name, view in found.items()} == {
        name: b"".join(chunks) for name, chunks in written.items()
    }
    assert len(data) % 8 == 0


@given(sections, st.data())
def test_any_flipped_bit_is_damage(written: dict[str, list[bytes]], choose: st.DataObject) -> None:
    """Guard: the checksum covers the length of the directory too; a flipped bit there would shift every section."""
    data = bytearray(dump_sections(written))
    at = choose.draw(st.integers(0, len(data) - 1))
    data[at] ^= 1 << choose.draw(st.integers(0, 7))
    with pytest.raises(Damaged):
        load_sections(memoryview(bytes(data)))


@given(sections, st.data())
def test_any_cut_is_damage(written: dict[str, list[bytes]], choose: st.DataObject) -> None:
    """A file cut at any length is damage."""
    data = dump_sections(written)
    with pytest.raises(Damaged):
        load_sections(memoryview(data[: choose.draw(st.integers(0, len(data) - 1))]))


def test_sections_can_be_read_as_numbers_in_place() -> None:
    """The numbers are a view of the buffer, not a copy."""
    data = memoryview(dump_sections({"a": [b"x"], "numbers": [(7).to_bytes(8, "little")]}))
    assert list(load_sections(data)["numbers"].cast("Q")) == [7]


@given(sections, st.data())
def test_one_section_is_read_by_itself_or_damaged(written: dict[str, list[bytes]], choose: st.DataObject) -> None:
    """A flipped bit in the section is Damaged; a flipped bit in another section does not matter."""
    data = bytearray(dump_sections(written))
    for name, chunks in written.items():
        found = load_section(memoryview(data), name)
        assert bytes(found) == b"".join(chunks)
        if len(found):
            found[choose.draw(st.integers(0, len(found) - 1))] ^= 1 << choose.draw(st.integers(0, 7))
            with pytest.raises(Damaged):
                load_section(memoryview(data), name)
    with pytest.raises(Damaged):
        load_section(memoryview(data), "longer than any")


def test_runs_bring_their_checksums_along() -> None:
    """A given checksum is not computed again: an incorrect one is damage, and a correct one gives the same file."""
    right = dump_sections({"a": [b"xyz", b"w"]})
    assert dump_sections({"a": [checksum_chunk(b"xyz"), checksum_chunk(b"w")]}) == right
    with pytest.raises(Damaged):
        load_sections(memoryview(dump_sections({"a": [Chunk(b"xyz", 1), b"w"]})))
