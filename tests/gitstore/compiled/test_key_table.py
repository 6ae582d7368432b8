"""The key table finds every position of a key; the oracle is a search through a list."""

from hypothesis import given
from hypothesis import strategies as st

from gitstore.compiled.segments.key_table import POSITION_BITS, dump_table, find_equal_hashes, find_positions, key_base

keys = st.lists(st.text("ab/é", max_size=3), max_size=30)


def _table(of: list[str]) -> memoryview:
    return memoryview(dump_table(key_base(key) + position for position, key in enumerate(of))).cast("Q")


@given(keys, st.text("ab/é", max_size=3))
def test_finds_what_a_list_finds(of: list[str], wanted: str) -> None:
    """The table returns all positions in order, and no others (these few keys have no equal hashes)."""
    expected = [position for position, key in enumerate(of) if key == wanted]
    assert find_positions(_table(of), wanted) == expected


def test_keys_of_equal_hash_are_all_found() -> None:
    """The table returns all candidates; a reader then compares the records."""
    base = key_base("/a")
    table = memoryview(dump_table([base + 3, base + 1, base - (1 << POSITION_BITS), base + (1 << POSITION_BITS)])).cast(
        "Q"
    )
    assert find_positions(table, "/a") == [1, 3]


def test_what_has_no_key_is_never_found() -> None:
    """The number for patterns is greater than that of every key."""
    for key in ("", "/", "/a", "h.example/a"):
        assert key_base(key) + (1 << POSITION_BITS) - 1 < 1 << 64
    assert find_positions(memoryview(b"").cast("Q"), "/a") == []


@given(st.lists(st.sampled_from([0, 1, 255, 256, 1 << 32, (1 << 40) - 1]), max_size=12))
def test_equal_hashes_are_those_that_occur_more_than_once(hashes: list[int]) -> None:
    """The hashes are such that their differences have zero bytes in many places."""
    table = memoryview(dump_table((each << POSITION_BITS) + at for at, each in enumerate(hashes))).cast("Q")
    places = ([at for at, other in enumerate(hashes) if other == each] for each in sorted(set(hashes)))
    assert find_equal_hashes(table) == [found for found in places if len(found) > 1]
