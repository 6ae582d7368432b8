"""The records of one file by field, so that a list can be searched, filtered and sorted without building them.

All columns are in one block of bytes, in memory or in a mapped file; texts are joined, so that a search passes over a
file at once, and only files with a hit are looked at record by record. Flags select records of a file: one byte per
record, 1 if it is selected. Python compares, joins and counts such bytes a thousand at a time.
"""

import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, groupby, repeat
from mmap import mmap
from operator import contains
from typing import Any, NamedTuple

import orjson

from content.records.vocabulary import RedirectStatus, RedirectType

Flags = bytes
Place = int

# The types of pages are among those of redirects.
_TYPES = {type_.value: code for code, type_ in enumerate(RedirectType)}
_STATUSES = {status.value: code for code, status in enumerate(RedirectStatus)}
_NO_STATUS = 255
_CODES = 256
_KEPT_SEARCHES = 4
_END = "\0"  # between texts; in a text, where only a pushed file can have it, it counts as another character
_OTHER = "\ufffd"
_SECTIONS = ("tags", "types", "statuses", "texts", "sources", "source_ends", "source_order", "targets", "target_ends")
_HEAD = struct.Struct(f"<I{len(_SECTIONS) + 1}Q")
_NUMBER = "I"
_NUMBER_BYTES = array(_NUMBER).itemsize


class SortedRun(NamedTuple):
    """Records of one file in order: their sort keys, and their positions in the file."""

    keys: Sequence[bytes]
    places: Sequence[Place]


class Columns:
    """The columns of a file, in a block of bytes from `start`. `texts` is for searches, in folded case."""

    def __init__(self, block: "bytes | mmap", start: int = 0) -> None:
        self._block = block
        count, *lengths = _HEAD.unpack(block[start : start + _HEAD.size])
        self._count: int = count
        ends = accumulate(lengths, initial=start + _HEAD.size)
        self._starts = dict(zip((*_SECTIONS, "target_order", "end"), ends, strict=True))
        self._none = bytes(self._count)
        self._found: dict[str, Flags] = {}  # by text: the next page, and the same search after an edit

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Columns) and self._data() == other._data()

    __hash__ = None  # type: ignore[assignment]  # as of any value that is compared by its content

    def _data(self) -> bytes:
        return self._slice("tags", "end")

    def _slice(self, name: str, end: str) -> bytes:
        return self._block[self._starts[name] : self._starts[end]]

    @cached_property
    def _tags(self) -> Mapping[str, Sequence[Place]]:
        found: dict[str, list[Place]] = orjson.loads(self._slice("tags", "types"))
        return found

    def flags_containing(self, folded: str) -> Flags:
        """Select the records whose text contains a text, which is already in folded case."""
        found = self._found.get(folded)
        if found is None:
            while len(self._found) >= _KEPT_SEARCHES:
                self._found.pop(next(iter(self._found)), None)
            found = self._found[folded] = self._search(folded.encode(errors="surrogatepass"))
        return found

    def _search(self, wanted: bytes) -> Flags:
        start, end = self._starts["texts"], self._starts["sources"]
        if b"\0" in wanted or not self._count or self._block.find(wanted, start, end) < 0:
            return self._none
        # Python looks into texts at twice the speed of bytes, and in this encoding every byte is a character.
        texts = self._block[start:end].decode("latin-1").split(_END)
        return bytes(map(contains, texts, repeat(wanted.decode("latin-1"))))

    def flags_of_type(self, type_: str) -> Flags:
        """Select the records of a type."""
        return _equal(self._slice("types", "statuses"), _TYPES.get(type_))

    def flags_of_status(self, status: str) -> Flags:
        """Select the records with a status, by its name; pages have none."""
        return _equal(self._slice("statuses", "texts"), _STATUSES.get(status))

    def flags_tagged(self, tag: str) -> Flags:
        """Select the records with a tag."""
        return flags_at(self._tags.get(tag, ()), self._count)

    def filtered_run(self, sort: str, wanted: Flags | None) -> SortedRun:
        """Return the selected records in the order of a sort; without flags, all of them.

        A descending sort (`-…`) is read from the end, so records with equal keys are in reverse order.
        """
        keys = self._block[self._starts[f"{_column(sort)}s"] : self._starts[f"{_column(sort)}_ends"]].split(b"\0")
        order: Sequence[Place] = self._order(sort)
        if sort.startswith("-"):
            order = list(_with_ties_reversed(order, keys.__getitem__))
        places = order if wanted is None else [place for place in order if wanted[place]]
        return SortedRun([keys[place] for place in places], places)

    def in_order(self, sort: str, wanted: Flags | None) -> Iterator[tuple[bytes, Place]]:
        """Yield key and position of the selected records in the order of a sort, from the last one for `-…`.

        Equal keys are in the order of the file both ways. Only the keys that are asked for are read.
        """
        places: Iterable[Place] = self._order(sort)
        if sort.startswith("-"):
            places = _with_ties_reversed(reversed(self._order(sort)), lambda place: self._key(sort, place))
        return ((self._key(sort, place), place) for place in places if wanted is None or wanted[place])

    def _order(self, sort: str) -> Sequence[Place]:
        name = _column(sort)
        start = self._starts[f"{name}_order"]
        return memoryview(self._block[start : start + _NUMBER_BYTES * self._count]).cast("I")

    def _key(self, sort: str, place: Place) -> bytes:
        """Return one key; its text ends before the end that is noted for it."""
        name = _column(sort)
        at = self._starts[f"{name}_ends"] + _NUMBER_BYTES * place
        start, end = struct.unpack_from("<2I", self._block, at)
        first = self._starts[f"{name}s"]
        return self._block[first + start : first + end - 1]


def dump_columns(items: Sequence[Mapping[str, Any]], extras: Mapping[Place, Mapping[str, Any]]) -> bytes:
    """Return the columns of a file: `items` by wire name as agents get them, `extras` (note, tags) by position."""
    sources = [item["source"] if "source" in item else item["path"] for item in items]
    searched = [item.get("target", "") for item in items]
    notes = (extras[place].get("note", "") if place in extras else "" for place in range(len(items)))
    texts = [f"{source}\n{target}\n{note}" for source, target, note in zip(sources, searched, notes, strict=True)]
    targets = [item.get("target", item.get("contentType", "")) for item in items]
    sections = [
        orjson.dumps(_by_tag(extras)),
        bytes([_TYPES[item["type"]] for item in items]),
        bytes([_STATUSES.get(item.get("status", ""), _NO_STATUS) for item in items]),
        _END.join(_without_ends(texts)).casefold().encode(errors="surrogatepass"),
        *_dump_keys(sources),
        *_dump_keys(targets),
    ]
    return b"".join([_HEAD.pack(len(items), *map(len, sections)), *sections])


def columns_of(items: Sequence[Mapping[str, Any]], extras: Mapping[Place, Mapping[str, Any]]) -> Columns:
    """Build the columns of a file in memory."""
    return Columns(dump_columns(items, extras))


def _dump_keys(texts: Sequence[str]) -> tuple[bytes, bytes, bytes]:
    """Return keys, the offset after the end of each with the offset of the first before them, and their order."""
    keys = [text.encode(errors="surrogatepass") for text in _without_ends(texts)]
    ends = accumulate((len(key) + 1 for key in keys), initial=0)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return b"\0".join(keys), array(_NUMBER, ends).tobytes(), array(_NUMBER, order).tobytes()


def _without_ends(texts: Sequence[str]) -> Sequence[str]:
    return [text.replace(_END, _OTHER) for text in texts] if any(_END in text for text in texts) else texts


def _with_ties_reversed(places: Iterable[Place], key: Callable[[Place], bytes]) -> Iterator[Place]:
    for _, tied in groupby(places, key):
        yield from reversed(list(tied))


def _column(sort: str) -> str:
    return sort.removeprefix("-")


def intersect_flags(one: Flags | None, other: Flags | None) -> Flags | None:
    """Select the records that both select; None selects all."""
    if one is None or other is None:
        return one if other is None else other
    return (int.from_bytes(one) & int.from_bytes(other)).to_bytes(len(one))


def flags_at(places: Sequence[Place], length: int) -> Flags:
    """Select the records at these positions."""
    flags = bytearray(length)
    for place in places:
        flags[place] = 1
    return bytes(flags)


def _equal(column: bytes, code: int | None) -> Flags:
    table = bytearray(_CODES)
    if code is not None:
        table[code] = 1
    return column.translate(table)


def _by_tag(extras: Mapping[Place, Mapping[str, Any]]) -> dict[str, list[Place]]:
    found: dict[str, list[Place]] = {}
    for position, extra in extras.items():
        for tag in extra.get("tags", ()):
            found.setdefault(tag, []).append(position)
    return found
