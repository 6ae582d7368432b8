"""The records of a file whose canonical form differs from the written one, stored a second time as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import orjson

from content.matching.canonical_record import canonical_record
from content.records.record import Record
from gitstore.compiled.segments.sections import raw_numbers

# The tables with the type codes of their numbers.
CODES = {"positions": "I", "offsets": "Q", "replaced": "Q"}


class CanonicalItems(NamedTuple):
    """The differing records by position in their file.

    `items` has the JSON of each, with a comma after it: that of the record at `positions[i]` is
    `items[offsets[i]:offsets[i + 1]]`. `replaced[i]` is the size of the written items of all differing records before
    it. Both have one more entry, for the end.
    """

    positions: Sequence[int]
    offsets: Sequence[int]
    replaced: Sequence[int]
    items: bytes | memoryview

    def by_position(self) -> dict[int, bytes]:
        """Return the items by the position of their record."""
        spans = zip(self.positions, self.offsets, self.offsets[1:], strict=False)
        return {position: bytes(self.items[start:end]) for position, start, end in spans}


def encode_canonical(records: Iterable[Record], offsets: Sequence[int]) -> CanonicalItems:
    """Return the canonical items of a file's records; `offsets` are those of the written items."""
    differing = {
        position: orjson.dumps(canonical.wire()) + b","
        for position, record in enumerate(records)
        if (canonical := canonical_record(record)) is not record
    }
    return canonical_items(differing, offsets)


def canonical_items(items: Mapping[int, bytes], offsets: Sequence[int]) -> CanonicalItems:
    """Return canonical items with these bytes, from a mapping in the order of positions."""
    replaced = (offsets[position + 1] - offsets[position] for position in items)
    return CanonicalItems(
        list(items),
        list(accumulate(map(len, items.values()), initial=0)),
        list(accumulate(replaced, initial=0)),
        b"".join(items.values()),
    )


def dump_canonical(canonical: CanonicalItems) -> dict[str, Sequence[bytes | memoryview]]:
    """Return the sections of a segment."""
    tables = {f"canonical.{name}": [raw_numbers(code, getattr(canonical, name))] for name, code in CODES.items()}
    return {**tables, "canonical.items": [canonical.items]}


def load_canonical(sections: Mapping[str, memoryview], prefix: str = "") -> CanonicalItems:
    """Read the sections of a segment, or those of one file in a release, in place."""
    return CanonicalItems(
        sections[f"{prefix}canonical.positions"].cast("I"),
        sections[f"{prefix}canonical.offsets"].cast("Q"),
        sections[f"{prefix}canonical.replaced"].cast("Q"),
        sections[f"{prefix}canonical.items"],
    )
