"""Pkt-lines: what is framed is read back, whatever the bytes, and everything else is refused with a reason."""

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitstore.wire.pkt_lines import (
    DELIMITER,
    FLUSH,
    KEEP_ALIVE,
    MAX_DATA,
    PACK_BAND,
    RESPONSE_END,
    MalformedRequest,
    Mark,
    band_lines,
    error_line,
    join_lines,
    pkt_line,
    read_line,
    read_text,
    text_line,
)

MARKS = {FLUSH: Mark.FLUSH, DELIMITER: Mark.DELIMITER, RESPONSE_END: Mark.RESPONSE_END}
PARTS = st.one_of(st.binary(max_size=300), st.sampled_from(list(MARKS.values())))
BYTES_OF = {mark: data for data, mark in MARKS.items()}


def read_all(data: bytes) -> list[bytes | Mark]:
    file, found = BytesIO(data), list[bytes | Mark]()
    while (line := read_line(file)) is not Mark.END:
        found.append(line)
    return found


def framed(parts: list[bytes | Mark]) -> bytes:
    return b"".join(BYTES_OF[part] if isinstance(part, Mark) else pkt_line(part) for part in parts)


@given(st.lists(PARTS, max_size=20))
def test_lines_and_marks_are_read_as_they_were_framed(parts: list[bytes | Mark]) -> None:
    assert read_all(framed(parts)) == parts


@given(st.lists(PARTS, min_size=1, max_size=6), st.data())
def test_a_stream_that_ends_within_a_line_is_refused(parts: list[bytes | Mark], data: st.DataObject) -> None:
    whole = framed(parts)
    ends = {len(framed(parts[:count])) for count in range(len(parts) + 1)}
    cut = data.draw(st.integers(0, len(whole)).filter(lambda at: at not in ends))
    with pytest.raises(MalformedRequest):
        read_all(whole[:cut])


@given(st.binary(max_size=200))
def test_any_bytes_are_lines_or_are_refused(data: bytes) -> None:
    try:
        found = read_all(data)
    except MalformedRequest:
        return
    assert framed(found).lower() == data.lower()


@given(st.binary(max_size=5_000), st.integers(2, 1_000))
def test_a_band_carries_all_bytes_in_lines_within_the_limit(data: bytes, most: int) -> None:
    lines = read_all(b"".join(band_lines(PACK_BAND, data, most)))
    assert b"".join(line[1:] for line in lines if isinstance(line, bytes)) == data
    assert all(isinstance(line, bytes) and line[:1] == PACK_BAND and 1 < len(line) <= most for line in lines)


@given(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=200))
def test_a_text_is_read_without_its_line_break(text: str) -> None:
    assert read_text(BytesIO(text_line(text))) == text
    assert read_text(BytesIO(pkt_line(text.encode()))) == text


def test_the_largest_line_has_65520_bytes() -> None:
    largest = pkt_line(b"x" * MAX_DATA)
    assert len(largest) == 65_520
    assert largest[:4] == b"fff0"
    assert read_all(largest) == [b"x" * MAX_DATA]
    with pytest.raises(ValueError, match="65,516 bytes, not 65,517"):
        pkt_line(b"x" * (MAX_DATA + 1))
    assert [len(line) for line in band_lines(PACK_BAND, b"x" * MAX_DATA)] == [65_520, 4 + 1 + 1]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"00", "ends within the length"),
        (b"zzzz", "without a length"),
        (b"+00a123456", "without a length"),
        (b" 00a123456", "without a length"),
        (b"0003", "shorter than its own length"),
        (b"0009abc", "ends within a line"),
    ],
)
def test_a_broken_line_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedRequest, match=reason):
        read_line(BytesIO(data))


def test_an_empty_line_is_no_mark() -> None:
    assert read_all(b"0004" + KEEP_ALIVE) == [b"", PACK_BAND]


def test_the_end_of_a_part_and_errors_are_framed() -> None:
    assert join_lines([text_line("one")]) == b"0008one\n" + FLUSH
    assert error_line("no") == b"000bERR no\n"
