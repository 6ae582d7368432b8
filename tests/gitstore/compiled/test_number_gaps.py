"""Publish numbers with gaps: places and numbers are each other's inverse, and readers see no skipped number."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitstore.compiled.indexes.number_gaps import Gap, add_gap, is_skipped, number_at, place_of
from gitstore.compiled.indexes.versions import _SIZE, Version, VersionIndex, amend_versions, has_commit, write_versions
from gitstore.errors import NotFound
from gitstore.layout import CommitId, TreeId

_steps = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 10**14)), max_size=4)


def gaps_of(steps: list[tuple[int, int]]) -> tuple[Gap, ...]:
    """Return gaps: so many versions after the one before, of such a width each."""
    gaps: list[Gap] = []
    at = 0
    for position, (versions, width) in enumerate(steps):
        after = at + versions + (position > 0)
        gaps.append(Gap(after, after + width))
        at = after + width
    return tuple(gaps)


@given(_steps, st.integers(1, 30))
def test_places_and_numbers_are_inverse(steps: list[tuple[int, int]], count: int) -> None:
    gaps = gaps_of(steps)
    numbers = [number_at(place, gaps) for place in range(1, count + 1)]
    assert numbers == sorted(set(numbers))
    assert [place_of(number, gaps) for number in numbers] == list(range(1, count + 1))
    assert not any(is_skipped(number, gaps) for number in numbers)
    for gap in gaps:
        assert is_skipped(gap.until, gaps)
        assert is_skipped(gap.after + 1, gaps)
        assert place_of(gap.until, gaps) == place_of(gap.after, gaps)


def test_a_longer_gap_replaces_one_from_the_same_number() -> None:
    assert add_gap((Gap(0, 3), Gap(5, 7)), Gap(5, 9)) == (Gap(0, 3), Gap(5, 9))
    assert add_gap((Gap(0, 3),), Gap(5, 9)) == (Gap(0, 3), Gap(5, 9))


@given(_steps, st.integers(1, 12), st.integers(1, 11), st.integers(0, 12), st.integers(0, 12))
def test_an_index_with_gaps_answers_as_a_list_does(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[int, int]],
    count: int,
    cut: int,
    offset: int,
    limit: int,
) -> None:
    gaps, path = gaps_of(steps), tmp_path_factory.getbasetemp() / "gapped"
    path.unlink(missing_ok=True)
    versions = [
        Version(number_at(place, gaps), CommitId(f"{place:02x}" * 20), TreeId(f"{place:040x}"), place)
        for place in range(1, count + 1)
    ]
    for part in (versions[:cut], versions[cut:]):
        if part:
            write_versions(path, part, gaps)
    index = VersionIndex(path, versions[-1].number, lambda: pytest.fail("rebuilt"), gaps)
    assert path.stat().st_size == count * _SIZE, "no bytes for skipped numbers"
    assert index.count == count
    assert [index.get(version.number) for version in versions] == versions
    assert [index.resolve(str(version.number)) for version in versions] == versions
    assert [index.resolve(version.commit) for version in versions] == versions
    assert index.window(offset, limit) == versions[::-1][offset : offset + limit]
    assert index.at_places(range(1, count + 1)) == versions
    assert [index.tree_before(version) for version in versions] == [None, *(each.tree for each in versions[:-1])]
    assert all(has_commit(path, version.number, version.commit, gaps) for version in versions)
    amend_versions(path, versions, gaps)
    assert index.window(0, count) == versions[::-1]
    for gap in gaps:
        with pytest.raises(NotFound):
            index.get(gap.until)
        assert not index.has(gap.until, versions[0].commit)


def test_a_reader_stops_before_the_next_number(tmp_path: Path) -> None:
    write_versions(
        tmp_path / "i",
        [Version(42, CommitId("a" * 40), None, 0), Version(43, CommitId("b" * 40), None, 0)],
        (Gap(0, 41),),
    )
    index = VersionIndex(tmp_path / "i", 42, lambda: None, (Gap(0, 41),))
    assert [version.number for version in index.window(0, 9)] == [42]
    with pytest.raises(NotFound):
        index.get(43)
