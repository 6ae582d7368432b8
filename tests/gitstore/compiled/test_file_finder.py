"""The files that have an id are those that a search of all files finds, with and without indexes of ids."""

from array import array
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from gitstore.compiled.segments.file_finder import FileFinder, IdIndex, dump_index
from gitstore.layout import BlobId

# Ids that agree in the bits of the index are in different files.
IDS = st.builds(lambda high, low: high << 60 | low, st.integers(0, 3), st.integers(0, 2))
LISTS = st.lists(st.lists(IDS, max_size=4), max_size=30)


class ListOfIds:
    """A file of rules, by the ids of its records."""

    def __init__(self, ids: Sequence[int], id_index: IdIndex | None) -> None:
        self.id_index = id_index
        self._ids = list(ids)
        self.searches = 0

    def place_of(self, number: int) -> int | None:
        """Return the position of an id."""
        self.searches += 1
        return self._ids.index(number) if number in self._ids else None

    def has_any(self, ids: frozenset[int]) -> bool:
        """Tell whether the file has one of the ids."""
        self.searches += 1
        return not ids.isdisjoint(self._ids)


def indexed(lists: Sequence[Sequence[int]], count: int) -> list[tuple[BlobId, ListOfIds]]:
    """Return files by blob; the first `count` have an index."""
    blobs = [BlobId(str(ids)) for ids in lists]
    index = IdIndex(memoryview(dump_index(lists[:count])).cast("Q"), blobs[:count])
    return [(blobs[at], ListOfIds(ids, index if at < count else None)) for at, ids in enumerate(lists)]


@given(LISTS, st.integers(0, 30), st.frozensets(IDS, max_size=3))
def test_found_files_are_those_of_a_search(lists: list[list[int]], count: int, wanted: frozenset[int]) -> None:
    expected = [at for at, ids in enumerate(lists) if wanted.intersection(ids)]
    finder = FileFinder(indexed(lists, count))
    assert finder.find(wanted) == expected
    firsts = [next((at for at, ids in enumerate(lists) if number in ids), None) for number in wanted]
    assert [finder.find_first(number) for number in wanted] == firsts


@given(LISTS, LISTS, st.integers(0, 30), st.integers(0, 30), st.frozensets(IDS, max_size=3))
def test_replaced_files_are_found_and_those_before_are_not(
    lists: list[list[int]], others: list[list[int]], count: int, other_count: int, wanted: frozenset[int]
) -> None:
    new = dict(list(enumerate(indexed(others, other_count)))[: len(lists)])
    old = FileFinder(indexed(lists, count))
    finder = old.replaced(new)
    state = [others[at] if at in new else ids for at, ids in enumerate(lists)]
    assert finder.find(wanted) == [at for at, ids in enumerate(state) if wanted.intersection(ids)]
    assert old.find(wanted) == [at for at, ids in enumerate(lists) if wanted.intersection(ids)]
    assert set(finder.unindexed) == {at for at in range(len(lists)) if at >= (other_count if at in new else count)}


def test_one_look_up_searches_one_file_among_many() -> None:
    lists = [array("Q", [(file << 30 | number) << 20 for number in range(5)]) for file in range(1_000)]
    files = indexed(lists, len(lists))
    assert FileFinder(files).find([lists[700][3]]) == [700]
    assert [at for at, (_, file) in enumerate(files) if file.searches] == [700]
