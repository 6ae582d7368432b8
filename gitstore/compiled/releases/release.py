"""A release of one project: one or two immutable files, which every worker maps into memory.

A list is a table of pieces: ranges of records of a whole release, the base, and of the file of the changes since. A window
is a few slices; matching reads the tables in place, first that of the base, then that of the changes.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import orjson

from content.matching.canonical import exact_key
from content.matching.matcher import Matcher
from content.matching.patterns import Patterns
from content.records.record import Page, Placed, Redirect, page_of, redirect_of
from content.records.vocabulary import Kind, RedirectType
from gitstore.compiled.releases.canonical_list import Splice
from gitstore.compiled.releases.layer import Layer
from gitstore.compiled.releases.release_file import (
    PIECES,
    ListedFile,
    ReleaseFile,
    list_files,
    open_base,
    open_release_file,
)
from gitstore.compiled.segments.key_table import find_hash, find_positions, hash_key
from gitstore.yamlfiles.project_file import ProjectFile

_PATTERNS_CACHE_SIZE = 2
_IDENTITY = {Kind.REDIRECTS: "source", Kind.PAGES: "path"}
Part = memoryview | Splice
Identity = tuple[int, int]  # of a record: its id and its fingerprint


@dataclass(frozen=True, slots=True)
class Run:
    """The items of one file: their number, and the SHA-256 of their bytes, each with a comma after it, in hex."""

    count: int
    sha256: str


class Pieces:
    """The pieces of a list in order: ranges of ordinals, which count through the layers, and how far their lines moved."""

    def __init__(self, layers: Sequence[Layer], pieces: Sequence[tuple[int, int, int]]) -> None:
        self.layers = layers
        self.firsts = [first for first, _, _ in pieces]
        self.shifts = [shift for _, _, shift in pieces]
        self.starts: list[int] = list(accumulate((count for _, count, _ in pieces), initial=0))
        self.total = self.starts[-1]
        self._bound = layers[0].total
        self.only = layers[0] if len(layers) == 1 and self.total else None  # the layer of a list without changes
        by_ordinal = sorted(range(len(pieces)), key=self.firsts.__getitem__)
        self._sorted_firsts = [self.firsts[at] for at in by_ordinal]
        self._by_ordinal = by_ordinal

    def ranges(self, start: int, end: int) -> Iterator[tuple[Layer, int, int]]:
        """Yield the records between two positions: a layer, and the range in it."""
        return ((layer, first, last) for layer, first, last, _ in self.shifted_ranges(start, end))

    def shifted_ranges(self, start: int, end: int) -> Iterator[tuple[Layer, int, int, int]]:
        """Yield the same ranges, each with how far its lines moved."""
        at = bisect_right(self.starts, start) - 1
        while start < end:
            stop = min(end, self.starts[at + 1])
            layer, first = self.locate(self.firsts[at] + start - self.starts[at])
            yield layer, first, first + stop - start, self.shifts[at]
            start, at = stop, at + 1

    def locate(self, ordinal: int) -> tuple[Layer, int]:
        """Return the layer of an ordinal, and its place there."""
        if ordinal < self._bound:
            return self.layers[0], ordinal
        return self.layers[1], ordinal - self._bound

    def ordinal(self, position: int) -> tuple[int, int]:
        """Return the ordinal at a position, and how far its line moved."""
        at = bisect_right(self.starts, position) - 1
        return self.firsts[at] + position - self.starts[at], self.shifts[at]

    def position(self, ordinal: int) -> int | None:
        """Return the position of an ordinal; None if no piece has it any more."""
        at = bisect_right(self._sorted_firsts, ordinal) - 1
        if at < 0:
            return None
        piece = self._by_ordinal[at]
        found = self.starts[piece] + ordinal - self.firsts[piece]
        return found if found < self.starts[piece + 1] else None


class _Windows(ABC):
    """The windows of a list with pieces; a subclass tells which bytes a range of a layer has."""

    def __init__(self, pieces: Pieces) -> None:
        self.pieces = pieces
        self.total = pieces.total

    @abstractmethod
    def part(self, layer: Layer, start: int, end: int) -> Part:
        """Return the items of a range of a layer, each with a comma after it."""

    def window(self, offset: int, limit: int) -> tuple[tuple[Part, ...], int]:
        """Return the items from `offset`, at most `limit`, as JSON with commas between, and their number.

        They are in as many parts as the window has pieces: mostly one.
        """
        start = min(offset, self.total)
        end = min(start + limit, self.total)
        if end == start:
            return (), 0
        parts = self.parts(start, end)
        last = parts[-1]
        parts[-1] = last.without_comma() if isinstance(last, Splice) else last[:-1]
        return tuple(parts), end - start

    def parts(self, start: int, end: int) -> list[Part]:
        """Return the items between two positions, each with a comma after it."""
        return [self.part(layer, first, last) for layer, first, last in self.pieces.ranges(start, end)]


class ReleaseList(_Windows):
    """One list of a release: the items in the order of its pieces, and the tables that go with them."""

    def __init__(self, project: str, kind: Kind, pieces: Pieces, files: Sequence[ListedFile]) -> None:
        super().__init__(pieces)
        self._only = pieces.only
        self.listed = files
        self._identity = _IDENTITY[kind]
        self._begins = [f'{{"type":"{type_}","{self._identity}":'.encode() for type_ in ("BASIC", "BASIC_HOST")]
        self._project = project
        self._starts: list[int] = list(accumulate((file.records for file in files), initial=0))

    def part(self, layer: Layer, start: int, end: int) -> memoryview:
        """Return the items of a range of a layer, each with a comma after it."""
        return layer.part(start, end)

    def window(self, offset: int, limit: int) -> tuple[tuple[Part, ...], int]:
        """Return a window; without changes it is one slice, cut at once."""
        start, layer = min(offset, self.total), self._only
        end = min(start + limit, self.total)
        if layer is None or start == end:
            return super().window(offset, limit)
        return (layer.items[layer.begin(start) : layer.begin(end) - 1],), end - start

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of all items, each with a comma after it, in hex; 100,000 take about 10 ms, once."""
        return self._digest(0, self.total)

    def _digest(self, start: int, end: int) -> str:
        digest = sha256()
        for layer, first, last in self.pieces.ranges(start, end):
            digest.update(layer.part(first, last))
        return digest.hexdigest()

    @cached_property
    def runs(self) -> list[Run]:
        """The runs of items that each file with records has, in order."""
        return [
            Run(file.records, file.sha256 or self._digest(start, start + file.records))
            for file, start in zip(self.listed, self._starts, strict=False)
            if file.records
        ]

    @cached_property
    def runs_sha256(self) -> str:
        """The SHA-256 of the runs, a line for each with its count and its digest."""
        return sha256(b"".join(b"%d %b\n" % (run.count, run.sha256.encode()) for run in self.runs)).hexdigest()

    def file_counts(self) -> dict[str, int]:
        """Return the number of records of each file, by path in the project."""
        return {file.path: file.records for file in self.listed}

    @cached_property
    def ids(self) -> Sequence[int]:
        """The API's ids as numbers, in order."""
        return self._numbers("ids", 0, self.total)

    @cached_property
    def fingerprints(self) -> Sequence[int]:
        """A number for each record that differs if anything in it does, notes and tags included."""
        return self._numbers("fingerprints", 0, self.total)

    def identities(self, start: int, end: int) -> list[Identity]:
        """Return id and fingerprint of the records between two positions."""
        return list(zip(*(self._numbers(name, start, end) for name in ("ids", "fingerprints")), strict=True))

    def _numbers(self, name: str, start: int, end: int) -> "memoryview[int]":
        """Return one of the tables of 64-bit numbers between two positions; that of one piece is not copied."""
        parts = [getattr(layer, name)[first:last] for layer, first, last in self.pieces.ranges(start, end)]
        return parts[0] if len(parts) == 1 else memoryview(b"".join(parts)).cast("Q")

    def item(self, position: int) -> dict[str, Any]:
        """Return the fields of one item."""
        found: dict[str, Any] = orjson.loads(self._item(position))
        return found

    def _item(self, position: int) -> memoryview:
        if self._only is not None:
            return self._only.item(position)
        layer, place = self.pieces.locate(self.pieces.ordinal(position)[0])
        return layer.item(place)

    def positions(self, key: str) -> Sequence[int]:
        """Return the positions of the exact records that have this key, in file order."""
        if self._only is not None:
            found = find_positions(self._only.keys, key)
            return [position for position in found if self._has(position, key)] if found else found
        ordinals = self.ordinals(hash_key(key))
        found = [position for ordinal in ordinals if (position := self.pieces.position(ordinal)) is not None]
        return sorted(position for position in found if self._has(position, key)) if found else found

    def ordinals(self, hash_: int) -> list[int]:
        """Return the ordinals whose key has a hash, also those that no piece has any more."""
        first, *rest = self.pieces.layers
        found = find_hash(first.keys, hash_)
        for layer in rest:
            found += [first.total + place for place in find_hash(layer.keys, hash_)]
        return found

    def _has(self, position: int, key: str) -> bool:
        """Tell whether the key is the record's, not a collision; a canonical spelling needs no parsing."""
        spelt = self._begins[not key.startswith("/")] + orjson.dumps(key)
        if self._item(position)[: len(spelt)] == spelt:
            return True
        item = self.item(position)
        return exact_key(item["type"].endswith("_HOST"), item[self._identity]) == key

    def place(self, position: int) -> tuple[str, int]:
        """Return the file (path in the namespace) and line of an item."""
        ordinal, shift = self.pieces.ordinal(position)
        layer, place = self.pieces.locate(ordinal)
        file = self.listed[bisect_right(self._starts, position) - 1]
        return f"{self._project}/{file.path}", layer.lines[place] + shift


class CanonicalList(_Windows):
    """One list of a release in canonical form; positions and total are those of the written one."""

    def part(self, layer: Layer, start: int, end: int) -> Part:
        """Return the items of a range of a layer, each with a comma after it."""
        return layer.canonical.part(start, end)


Listing = ReleaseList | CanonicalList


class Release:
    """A project's published lists, read in place; also the rules of a Matcher."""

    def __init__(self, project: str, own: ReleaseFile, base: ReleaseFile | None = None) -> None:
        """Read a release from its own file, and from that of its base."""
        self.own, self.base = own, base or own
        self._project = project
        self._files = [own] if base is None else [base, own]

    @cached_property
    def settings(self) -> ProjectFile:
        """The project's settings."""
        return ProjectFile(**self.own.meta["settings"])

    @cached_property
    def listings(self) -> Mapping[Kind, ReleaseList]:
        """The lists as they are written."""
        base = None if self.base is self.own else self.base.listed
        listed = {kind: list_files(kind, self.own.meta, base[kind]) if base else self.own.listed[kind] for kind in Kind}
        return {kind: ReleaseList(self._project, kind, self._pieces(kind), listed[kind]) for kind in Kind}

    @cached_property
    def canonical_listings(self) -> Mapping[Kind, Listing]:
        """The lists in canonical form; those in which nothing differs are the written ones."""
        return {
            kind: listing
            if all(file.layers[kind].canonical is file.layers[kind] for file in self._files)
            else CanonicalList(listing.pieces)
            for kind, listing in self.listings.items()
        }

    @cached_property
    def _redirects(self) -> ReleaseList:
        return self.listings[Kind.REDIRECTS]

    @cached_property
    def _pages(self) -> ReleaseList:
        return self.listings[Kind.PAGES]

    def _pieces(self, kind: Kind) -> Pieces:
        layers = [file.layers[kind] for file in self._files]
        if self.base is self.own:
            return Pieces(layers, [(0, layers[0].total, 0)] if layers[0].total else [])
        numbers = iter(self.own.sections[f"{kind}.{PIECES}"].cast("i"))
        return Pieces(layers, list(zip(numbers, numbers, numbers, strict=True)))

    @cached_property
    def matcher(self) -> Matcher:
        """The matcher of these rules; its patterns are compiled at the first request."""
        return Matcher(self)

    def has_digests(self, names: Collection[str]) -> bool:
        """Tell whether these properties of the lists are computed: `sha256`, `runs_sha256`."""
        return all(name in vars(listing) for listing in self.listings.values() for name in names)

    def digest(self, names: Collection[str]) -> None:
        """Compute these properties of the lists now."""
        _ = [getattr(listing, name) for listing in self.listings.values() for name in names]

    def file_counts(self) -> dict[Kind, dict[str, int]]:
        """Return the number of records of each file, by path in the project."""
        return {kind: listing.file_counts() for kind, listing in self.listings.items()}

    @classmethod
    def open(cls, project: str, path: Path) -> "Release":
        """Map a compiled release. Raises FileNotFoundError, Damaged or ValueError if it has to be compiled again."""
        own = open_release_file(path)
        return cls(project, own, open_base(path.parent, own.base) if own.base else None)

    def redirects_at(self, key: str) -> Sequence[int]:
        """Return the positions of the exact redirects that have this key, in file order."""
        return self._redirects.positions(key)

    def pages_at(self, key: str) -> Sequence[int]:
        """Return the positions of the pages that have this key, in file order."""
        return self._pages.positions(key)

    def redirect(self, position: int) -> Placed[Redirect]:
        """Return one redirect with its place."""
        listing = self._redirects
        return Placed(redirect_of(listing.item(position)), *listing.place(position), position)

    def page(self, position: int) -> Placed[Page]:
        """Return one page with its place."""
        listing = self._pages
        return Placed(page_of(listing.item(position)), *listing.place(position), position)

    def patterns(self) -> Patterns:
        """Return the regex redirects; one object for all releases with the same ones at the same positions."""
        return _patterns(tuple(self.pattern_rows()))

    def pattern_rows(self) -> list[tuple[int, str, str]]:
        """Return position, type and source of the regex redirects, in order."""
        if self.base is self.own:
            return self.own.patterns
        pieces, bound = self._redirects.pieces, self.base.layers[Kind.REDIRECTS].total
        own = ((bound + place, type_, source) for place, type_, source in self.own.patterns)
        rows = chain(self.base.patterns, own)
        found = ((pieces.position(ordinal), type_, source) for ordinal, type_, source in rows)
        return sorted((at, type_, source) for at, type_, source in found if at is not None)

    @cached_property
    def _hosts(self) -> Collection[str]:
        if self.base is self.own:
            return frozenset(self.own.meta["hosts"])
        gone, new = self.own.meta["hosts"]
        return frozenset(self.base.meta["hosts"]).difference(gone).union(new)

    def hosts(self) -> Collection[str]:
        """Return the hosts that exact redirects and pages name."""
        return self._hosts


@lru_cache(_PATTERNS_CACHE_SIZE)
def _patterns(rows: tuple[tuple[int, str, str], ...]) -> Patterns:
    return Patterns((position, RedirectType[type_], source) for position, type_, source in rows)
