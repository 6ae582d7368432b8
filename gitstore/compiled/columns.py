"""The records of one file by field, so that a list can be searched, filtered and sorted without building them.

Flags select records of a file: one byte per record, 1 if it is selected. Python compares, joins and counts such bytes a
thousand at a time, and a search of 100,000 short texts takes 7 ms.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from content.records.vocabulary import RedirectStatus, RedirectType

Flags = bytes

# The types of pages are among those of redirects.
_TYPES = {type_.value: code for code, type_ in enumerate(RedirectType)}
_STATUSES = {status.value: code for code, status in enumerate(RedirectStatus)}
_NO_STATUS = 255
_CODES = 256


class SortedRun(NamedTuple):
    """Records of one file in order: their sort keys, and their positions in the file."""

    keys: Sequence[str]
    places: Sequence[int]


@dataclass(frozen=True)
class Columns:
    """The columns of a file. `texts` is for searches, in folded case: identity, target and note."""

    identities: Sequence[str]
    targets: Sequence[str]
    texts: Sequence[str]
    types: bytes
    statuses: bytes
    tags: Mapping[str, Sequence[int]]
    _runs: dict[str, SortedRun] = field(default_factory=dict)

    def flags_containing(self, folded: str) -> Flags:
        """Select the records whose text contains a text, which is already in folded case."""
        return bytes([folded in text for text in self.texts])

    def flags_of_type(self, type_: str) -> Flags:
        """Select the records of a type."""
        return _equal(self.types, _TYPES.get(type_))

    def flags_of_status(self, status: str) -> Flags:
        """Select the records with a status, by its name; pages have none."""
        return _equal(self.statuses, _STATUSES.get(status))

    def flags_tagged(self, tag: str) -> Flags:
        """Select the records with a tag."""
        return flags_at(self.tags.get(tag, ()), len(self.texts))

    def run(self, sort: str) -> SortedRun:
        """Return all records in the order of a sort.

        A descending sort (`-…`) is read from the end, so records with equal keys are in reverse order.
        """
        found = self._runs.get(sort)
        if found is None:
            keys = self._keys(sort)
            places = range(len(keys) - 1, -1, -1) if sort.startswith("-") else range(len(keys))
            ordered = sorted(places, key=keys.__getitem__)
            found = self._runs[sort] = SortedRun([keys[place] for place in ordered], ordered)
        return found

    def filtered_run(self, sort: str, wanted: Flags | None) -> SortedRun:
        """Return the selected records in the order of a sort; without flags, all of them."""
        run = self.run(sort)
        if wanted is None or 0 not in wanted:
            return run
        places = [place for place in run.places if wanted[place]]
        keys = self._keys(sort)
        return SortedRun([keys[place] for place in places], places)

    def _keys(self, sort: str) -> Sequence[str]:
        return self.identities if sort.endswith("source") else self.targets


def columns_of(items: Sequence[Mapping[str, Any]], extras: Mapping[int, Mapping[str, Any]]) -> Columns:
    """Build the columns of a file: `items` by wire name as agents get them, `extras` (note, tags) by position."""
    identities = [item["source"] if "source" in item else item["path"] for item in items]
    searched = [item.get("target", "") for item in items]
    notes = {position: extra["note"] for position, extra in extras.items() if "note" in extra}
    return Columns(
        identities,
        [item.get("target", item.get("contentType", "")) for item in items],
        [
            f"{identity}\n{target}\n{notes.get(position, '')}".casefold()
            for position, (identity, target) in enumerate(zip(identities, searched, strict=True))
        ],
        bytes([_TYPES[item["type"]] for item in items]),
        bytes([_STATUSES.get(item.get("status", ""), _NO_STATUS) for item in items]),
        _by_tag(extras),
    )


def intersect_flags(one: Flags | None, other: Flags | None) -> Flags | None:
    """Select the records that both select; None selects all."""
    if one is None or other is None:
        return one if other is None else other
    return (int.from_bytes(one) & int.from_bytes(other)).to_bytes(len(one))


def flags_at(places: Sequence[int], length: int) -> Flags:
    """Select the records at these positions."""
    flags = bytearray(length)
    for place in places:
        flags[place] = 1
    return bytes(flags)


def flags_where(holds: Callable[[int], bool], numbers: Sequence[int]) -> Flags:
    """Select the records whose number satisfies `holds`."""
    return bytes(map(holds, numbers))


def _equal(column: bytes, code: int | None) -> Flags:
    table = bytearray(_CODES)
    if code is not None:
        table[code] = 1
    return column.translate(table)


def _by_tag(extras: Mapping[int, Mapping[str, Any]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for position, extra in extras.items():
        for tag in extra.get("tags", ()):
            found.setdefault(tag, []).append(position)
    return found
