"""The items of a layer in canonical form: the written ones, and the canonical ones in place of those that differ.

A range is a slice of the written items if nothing in it differs. Otherwise it is a splice of both, of a size that is
known before it is joined.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol


class WrittenItems(Protocol):
    """The items as written, with a comma after each."""

    total: int
    items: memoryview
    offsets: "memoryview[int]"

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


class CanonicalLayer:
    """The items of a layer in canonical form; ordinals and total are those of the written ones."""

    def __init__(
        self, kind: str, written: WrittenItems, files: Sequence[Sequence[int]], sections: Mapping[str, memoryview]
    ) -> None:
        self.total = written.total
        self._written = written
        self._items = sections[f"{kind}.canonical.items"]
        self._positions = sections[f"{kind}.canonical.positions"].cast("I")
        # In both tables, file `i` begins `i` entries later than in `_positions`: each file has an entry for its end.
        self._offsets = sections[f"{kind}.canonical.offsets"].cast("Q")
        self._replaced = sections[f"{kind}.canonical.replaced"].cast("Q")
        self._files = list(self._read_files(files))
        self._firsts = [file.first for file in self._files]

    def _read_files(self, files: Sequence[Sequence[int]]) -> Iterator[_File]:
        begin = base = growth = 0
        for index, (first, differing, size) in enumerate(files):
            end = begin + differing
            yield _File(first, begin, end, base, growth)
            growth += size - self._replaced[end + index]
            begin, base = end, base + size

    def part(self, start: int, end: int) -> "memoryview | Splice":
        """Return the items of a range, each with a comma after it."""
        first, last = self._mark(start), self._mark(end)
        if first.differing < last.differing:
            return Splice(self, start, end, self._written_size(start, end) + last.growth - first.growth)
        return self._written.items[self._written.begin(start) : self._written.begin(end)]

    def _written_size(self, start: int, end: int) -> int:
        return self._written.begin(end) - self._written.begin(start)

    def _mark(self, position: int) -> _Mark:
        index = bisect_right(self._firsts, position) - 1
        if index < 0:
            return _Mark(0, 0)
        file = self._files[index]
        at = bisect_left(self._positions, position - file.first, file.begin, file.end)
        return _Mark(at, file.growth + self._offsets[at + index] - self._replaced[at + index])

    def parts(self, start: int, end: int) -> list[memoryview]:
        """Return the items of a range, each with a comma after it, in the longest parts that are stored together."""
        found: list[memoryview] = []
        at = self._written.begin(start)
        for index in range(max(bisect_right(self._firsts, start) - 1, 0), bisect_left(self._firsts, end)):
            at = self._add_parts(found, index, start, end, at)
        found.append(self._written.items[at : self._written.begin(end)])
        return found

    def _add_parts(self, found: list[memoryview], index: int, start: int, end: int, at: int) -> int:
        """Add the parts of one file from the written offset `at` to its last differing record; return the offset there.

        A loop over lists takes a fifth of the time of one over the tables.
        """
        first, begin, last, base, _ = self._files[index]
        begin = bisect_left(self._positions, start - first, begin, last)
        last = bisect_left(self._positions, end - first, begin, last)
        positions = self._positions[begin:last].tolist()
        ends = self._offsets[begin + index + 1 : last + index + 1].tolist()
        replaced = self._replaced[begin + index : last + index + 1].tolist()
        items, canonical, offsets = self._written.items, self._items, self._written.offsets
        written = self._written.begin(first)
        run = run_end = base + self._offsets[begin + index]
        for position, canonical_end, before, after in zip(positions, ends, replaced, replaced[1:], strict=False):
            place = written + offsets[first + position]
            if place != at:
                if run != run_end:
                    found.append(canonical[run:run_end])
                found.append(items[at:place])
                run = run_end
            run_end = base + canonical_end
            at = place + after - before
        if run != run_end:
            found.append(canonical[run:run_end])
        return at


class Splice:
    """A range of a canonical layer in which records differ, with a comma after each; it is joined when it is sent."""

    __slots__ = ("_cut", "_end", "_layer", "_size", "_start")

    def __init__(self, layer: CanonicalLayer, start: int, end: int, size: int, cut: int = 0) -> None:
        self._layer, self._start, self._end, self._size, self._cut = layer, start, end, size, cut

    def __len__(self) -> int:
        return self._size - self._cut

    def without_comma(self) -> "Splice":
        """Return the range without the comma after its last item."""
        return Splice(self._layer, self._start, self._end, self._size, 1)

    def pieces(self, size: int) -> Iterator[bytes]:
        """Yield the bytes in pieces of about this size; one long item is not divided."""
        step = max(1, (self._end - self._start) * size // self._size)
        for start in range(self._start, self._end, step):
            end = min(start + step, self._end)
            piece = b"".join(self._layer.parts(start, end))
            yield piece[:-1] if self._cut and end == self._end else piece
