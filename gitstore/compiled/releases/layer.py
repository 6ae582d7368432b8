"""The records of one list in one compiled file, read in place: a whole release, or the changes since an earlier one.

Records have an ordinal, which is their place in the file. A release shows them in the order of its pieces.
"""

from bisect import bisect_right
from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from content.records.vocabulary import Kind
from gitstore.compiled.releases.canonical_list import CanonicalLayer


class Layer:
    """The JSON of records with a comma after each, the offset of each one in the items of its file, and their tables.

    `ids` are the API's as numbers; `fingerprints` differ if anything in the records does, notes and tags included.
    `canonical` has the items in canonical form; it is the layer itself if none differs.
    """

    def __init__(self, kind: Kind, meta: Mapping[str, Any], sections: Mapping[str, memoryview]) -> None:
        self.total: int = meta["total"]
        self.items = sections[f"{kind}.items"]
        self.offsets = sections[f"{kind}.offsets"].cast("Q")
        self.keys = sections[f"{kind}.keys"].cast("Q")
        self.lines = sections[f"{kind}.lines"].cast("I")
        self.ids = sections[f"{kind}.ids"].cast("Q")
        self.fingerprints = sections[f"{kind}.prints"].cast("Q")
        self._starts: list[int] = list(accumulate((count for _, count, _ in meta["files"]), initial=0))
        self._bases: list[int] = list(accumulate((size for _, _, size in meta["files"]), initial=0))
        self.canonical: Layer | CanonicalLayer = (
            CanonicalLayer(kind, self, meta["canonical"], sections) if meta["canonical"] else self
        )

    def begin(self, ordinal: int) -> int:
        """Return the offset of an item; for the number of all items, the end of the last one."""
        if ordinal == self.total:
            return self._bases[-1]
        base: int = self._bases[bisect_right(self._starts, ordinal) - 1]
        return base + self.offsets[ordinal]

    def part(self, start: int, end: int) -> memoryview:
        """Return the items of a range, each with a comma after it."""
        return self.items[self.begin(start) : self.begin(end)]

    def item(self, ordinal: int) -> memoryview:
        """Return one item, without a comma."""
        file = bisect_right(self._starts, ordinal) - 1
        base, following = self._bases[file], ordinal + 1
        end = self._bases[file + 1] if following == self._starts[file + 1] else base + self.offsets[following]
        return self.items[base + self.offsets[ordinal] : end - 1]
