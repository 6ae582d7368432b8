"""A list of a release in canonical form: the written items, and the canonical ones in place of those that differ.

A window is a slice of the written list if nothing in it differs. Otherwise it is a splice of both, of a size that is
known before it is joined.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol


class WrittenList(Protocol):
    """The list as written, with a comma after each item."""

    total: int
    items: memoryview

    def begin(self, position: int) -> int:
        """Return the offset of an item; for the number of all items, the end of the last one."""
        ...


class _File(NamedTuple):
    """A file with differing records: its first position in the list, and its place in the tables.

    Its differing records are `positions[begin:end]`; `base` is the offset of the first canonical item. `growth` is the
    growth in bytes of all files before it.
    """

    first: int
    begin: int
    end: int
    base: int
    growth: int


class _Mark(NamedTuple):
    """A place in the list: the number of differing records before it, and their growth in bytes."""

    differing: int
    growth: int


class CanonicalList:
    """One list of a release in canonical form; positions and total are those of the written one."""

    def __init__(
        self, kind: str, written: WrittenList, files: Sequence[Sequence[int]], sections: Mapping[str, memoryview]
    ) -> None:
        self.total = written.total
        self._written = written
        self._items = sections[f"{kind}.canonical.items"]
        self._positions: Sequence[int] = sections[f"{kind}.canonical.positions"].cast("I")
        # In both tables, file `i` begins `i` entries later than in `_positions`: each file has an entry for its end.
        self._offsets: Sequence[int] = sections[f"{kind}.canonical.offsets"].cast("Q")
        self._replaced: Sequence[int] = sections[f"{kind}.canonical.replaced"].cast("Q")
        self._files = list(self._read_files(files))
        self._firsts = [file.first for file in self._files]

    def _read_files(self, files: Sequence[Sequence[int]]) -> Iterator[_File]:
        begin = base = growth = 0
        for index, (first, differing, size) in enumerate(files):
            end = begin + differing
            yield _File(first, begin, end, base, growth)
            growth += size - self._replaced[end + index]
            begin, base = end, base + size

    def window(self, offset: int, limit: int) -> tuple["memoryview | Splice", int]:
        """Return the items from `offset`, at most `limit`, as JSON with commas between, and their number."""
        start = min(offset, self.total)
        end = min(start + limit, self.total)
        first, last = self._mark(start), self._mark(end)
        if first.differing < last.differing:
            return Splice(
                self, start, end, self._written_size(start, end) + last.growth - first.growth - 1
            ), end - start
        written = self._written
        return written.items[written.begin(start) : max(written.begin(end) - 1, 0)], end - start

    def _written_size(self, start: int, end: int) -> int:
        return self._written.begin(end) - self._written.begin(start)

    def _mark(self, position: int) -> _Mark:
        index = bisect_right(self._firsts, position) - 1
        if index < 0:
            return _Mark(0, 0)
        file = self._files[index]
        at = bisect_left(self._positions, position - file.first, file.begin, file.end)
        return _Mark(at, file.growth + self._offsets[at + index] - self._replaced[at + index])

    def parts(self, start: int, end: int) -> Iterator[memoryview]:
        """Yield the items of a range, each with a comma after it, in the longest parts that are stored together."""
        items, begin, at = self._written.items, self._written.begin, start
        for first, following, canonical in self._runs(start, end):
            if at < first:
                yield items[begin(at) : begin(first)]
            yield canonical
            at = following
        if at < end:
            yield items[begin(at) : begin(end)]

    def _runs(self, start: int, end: int) -> Iterator[tuple[int, int, memoryview]]:
        """Yield the runs of differing records in a range: the first position, the one after the last, and the items."""
        positions, offsets = self._positions, self._offsets
        for index in range(max(bisect_right(self._firsts, start) - 1, 0), bisect_left(self._firsts, end)):
            first, lowest, highest, base, _ = self._files[index]
            at = bisect_left(positions, start - first, lowest, highest)
            last = bisect_left(positions, end - first, at, highest)
            while at < last:
                following = at + 1
                while following < last and positions[following] == positions[following - 1] + 1:
                    following += 1
                data = self._items[base + offsets[at + index] : base + offsets[following + index]]
                yield first + positions[at], first + positions[following - 1] + 1, data
                at = following


class Splice:
    """A window of a canonical list in which records differ; it is joined when it is sent."""

    __slots__ = ("_end", "_list", "_size", "_start")

    def __init__(self, listing: CanonicalList, start: int, end: int, size: int) -> None:
        self._list, self._start, self._end, self._size = listing, start, end, size

    def __len__(self) -> int:
        return self._size

    def pieces(self, size: int) -> Iterator[bytes]:
        """Yield the bytes in pieces of about this size; one long item is not divided."""
        step = max(1, (self._end - self._start) * size // self._size)
        for start in range(self._start, self._end, step):
            end = min(start + step, self._end)
            piece = b"".join(self._list.parts(start, end))
            yield piece[:-1] if end == self._end else piece
