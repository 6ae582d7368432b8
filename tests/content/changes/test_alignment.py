"""The alignment of two lists: removed and added records lead from one to the other, and no more of them than needed."""

from hypothesis import example, given
from hypothesis import strategies as st

from content.changes.alignment import align

_UNIQUE = st.lists(st.integers(0, 12), max_size=10, unique=True)


def _longest_common(old: list[int], new: list[int]) -> int:
    """Return the length of the longest common subsequence, by the textbook."""
    lengths = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for one, key in enumerate(old, 1):
        for other, found in enumerate(new, 1):
            here = lengths[one - 1][other - 1] + 1 if key == found else 0
            lengths[one][other] = max(here, lengths[one - 1][other], lengths[one][other - 1])
    return lengths[-1][-1]


@given(_UNIQUE, _UNIQUE)
@example([1, 2, 3, 4], [4, 1, 2, 3])
@example([1, 2, 3], [3, 2, 1])
@example([], [1])
def test_as_many_records_as_possible_stay(old: list[int], new: list[int]) -> None:
    """Guard: a rule that moves costs one removal and one addition, wherever it moves to."""
    found = align(old, new)
    assert len(found.kept) == _longest_common(old, new)


@given(st.lists(st.integers(0, 4), max_size=12), st.lists(st.integers(0, 4), max_size=12))
@example([1, 1, 2], [1, 2, 1])
def test_each_record_is_in_one_part_in_order(old: list[int], new: list[int]) -> None:
    """Also with duplicates, which old programs accepted."""
    removed, added, kept = align(old, new)
    before, after = [place for place, _ in kept], [place for _, place in kept]
    assert [old[place] for place in before] == [new[place] for place in after]
    assert sorted(removed + before) == list(range(len(old)))
    assert sorted(added + after) == list(range(len(new)))
    for places in (removed, added, before, after):
        assert places == sorted(places)


def test_a_move_in_a_long_list_is_one_removal_and_one_addition() -> None:
    """The rest is not touched."""
    old = list(range(1000))
    new = [*old[:10], *old[11:900], old[10], *old[900:]]
    found = align(old, new)
    assert (found.removed, found.added) == ([10], [899])
