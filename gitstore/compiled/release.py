"""A release of one project: compiled into one immutable file, which every worker maps into memory.

A window of a list is two offsets and one slice; matching reads the tables in place. The file is named by the project's
tree and contains no project name, so equal content is compiled once for all commits and projects.
"""

import mmap
from bisect import bisect_right
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import orjson

from content.matching.canonical import exact_key
from content.matching.matcher import Matcher
from content.matching.patterns import Patterns
from content.records.record import Page, Placed, Redirect, page_of, redirect_of
from content.records.vocabulary import Kind, RedirectType
from gitstore.compiled.canonical_list import CanonicalList
from gitstore.compiled.key_table import find_positions
from gitstore.compiled.sections import load_section, load_sections
from gitstore.layout import TreeId
from gitstore.yamlfiles.project_file import ProjectFile

# Part of every file name: raise it when the file's content or its meaning changes.
FORMAT = "4"
_PATTERNS_CACHE_SIZE = 2
_IDENTITY = {Kind.REDIRECTS: "source", Kind.PAGES: "path"}


def release_path(folder: Path, tree: TreeId) -> Path:
    """Return the path of the release of a tree."""
    return folder / f"{tree}.{FORMAT}"


def map_release(path: Path) -> memoryview:
    """Map the bytes of a compiled release, unchecked. Raises ValueError for an empty file."""
    with path.open("rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def read_file_counts(path: Path) -> dict[Kind, dict[str, int]]:
    """Return the number of records of each file of a compiled release, by path in the project; reads no list.

    Raises FileNotFoundError, Damaged or ValueError if it has to be compiled again.
    """
    meta = orjson.loads(load_section(map_release(path), "meta"))
    return {kind: {file: count for file, count, _ in meta[kind.value]["files"]} for kind in Kind}


@dataclass(frozen=True, slots=True)
class Run:
    """The items of one file: their number, and the SHA-256 of their bytes, each with a comma after it, in hex."""

    count: int
    sha256: str


class ReleaseList:
    """One list of a release: the JSON of its items, and the offset of each one in the items of its file.

    `ids` are the API's as numbers; `fingerprints` differ if anything in the records does, notes and tags included.
    """

    def __init__(self, project: str, kind: Kind, meta: dict[str, Any], sections: dict[str, memoryview]) -> None:
        self.total: int = meta["total"]
        self.items = sections[f"{kind}.items"]
        self.offsets = sections[f"{kind}.offsets"].cast("Q")
        self.keys = sections[f"{kind}.keys"].cast("Q")
        self._lines = sections[f"{kind}.lines"].cast("I")
        self._identity = _IDENTITY[kind]
        self._begins = [f'{{"type":"{type_}","{self._identity}":'.encode() for type_ in ("BASIC", "BASIC_HOST")]
        self.ids = sections[f"{kind}.ids"].cast("Q")
        self.fingerprints = sections[f"{kind}.prints"].cast("Q")
        self._files: list[str] = [f"{project}/{path}" for path, _, _ in meta["files"]]
        self._sums: list[str] | None = meta.get("runs")  # releases of earlier programs do not have it
        self._starts: list[int] = list(accumulate((count for _, count, _ in meta["files"]), initial=0))
        self._bases: list[int] = list(accumulate((size for _, _, size in meta["files"]), initial=0))

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of all items, each with a comma after it, in hex; 100,000 take about 10 ms, once."""
        return sha256(self.items).hexdigest()

    @cached_property
    def runs(self) -> list[Run]:
        """The runs of items that each file with records has, in order."""
        ends = pairwise(self._bases)
        sums = self._sums or [sha256(self.items[start:end]).hexdigest() for start, end in ends]
        counts = (end - start for start, end in pairwise(self._starts))
        return [Run(count, sum_) for count, sum_ in zip(counts, sums, strict=True) if count]

    @cached_property
    def runs_sha256(self) -> str:
        """The SHA-256 of the runs, a line for each with its count and its digest."""
        return sha256(b"".join(b"%d %b\n" % (run.count, run.sha256.encode()) for run in self.runs)).hexdigest()

    def file_counts(self) -> dict[str, int]:
        """Return the number of records of each file, by path in the project."""
        counts = (end - start for start, end in pairwise(self._starts))
        return dict(zip((path.partition("/")[2] for path in self._files), counts, strict=True))

    def window(self, offset: int, limit: int) -> tuple[memoryview, int]:
        """Return the items from `offset`, at most `limit`, as JSON with commas between, and their number."""
        start = min(offset, self.total)
        end = min(start + limit, self.total)
        if end == start:
            return self.items[:0], 0
        return self.items[self.begin(start) : self.begin(end) - 1], end - start

    def begin(self, position: int) -> int:
        """Return the offset of an item; for the number of all items, the end of the last one."""
        if position == self.total:
            return self._bases[-1]
        base: int = self._bases[bisect_right(self._starts, position) - 1]
        return base + self.offsets[position]

    def item(self, position: int) -> dict[str, Any]:
        """Return the fields of one item."""
        found: dict[str, Any] = orjson.loads(self._item(position))
        return found

    def _item(self, position: int) -> memoryview:
        file = bisect_right(self._starts, position) - 1
        base, following = self._bases[file], position + 1
        end = self._bases[file + 1] if following == self._starts[file + 1] else base + self.offsets[following]
        return self.items[base + self.offsets[position] : end - 1]

    def positions(self, key: str) -> Sequence[int]:
        """Return the positions of the exact records that have this key, in file order."""
        found = find_positions(self.keys, key)
        return [position for position in found if self._has(position, key)] if found else found

    def _has(self, position: int, key: str) -> bool:
        """Tell whether the key is the record's, not a collision; a canonical spelling needs no parsing."""
        spelt = self._begins[not key.startswith("/")] + orjson.dumps(key)
        if self._item(position)[: len(spelt)] == spelt:
            return True
        item = self.item(position)
        return exact_key(item["type"].endswith("_HOST"), item[self._identity]) == key

    def place(self, position: int) -> tuple[str, int]:
        """Return the file (path in the namespace) and line of an item."""
        return self._files[bisect_right(self._starts, position) - 1], self._lines[position]


Listing = ReleaseList | CanonicalList


class Release:
    """A project's published lists, read in place; also the rules of a Matcher."""

    def __init__(self, project: str, buffer: memoryview, *, trusted: bool = False) -> None:
        """Read a compiled release. Raises `sections.Damaged` if the bytes are not those that were written.

        Bytes that this process has just built are trusted: their checksum is not computed again.
        """
        sections = load_sections(buffer, trusted=trusted)
        meta = orjson.loads(sections["meta"])
        self.settings = ProjectFile(**meta["settings"])
        self._patterns = sections["patterns"]
        self._hosts: list[str] = meta["hosts"]
        self.listings = {kind: ReleaseList(project, kind, meta[kind.value], sections) for kind in Kind}
        self.canonical_listings: dict[Kind, Listing] = {
            kind: CanonicalList(kind, listing, files, sections) if (files := meta[kind.value]["canonical"]) else listing
            for kind, listing in self.listings.items()
        }
        self._redirects, self._pages = self.listings[Kind.REDIRECTS], self.listings[Kind.PAGES]

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
        return cls(project, map_release(path))

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
        return _patterns(bytes(self._patterns))

    def hosts(self) -> Collection[str]:
        """Return the hosts that exact redirects and pages name."""
        return self._hosts


@lru_cache(_PATTERNS_CACHE_SIZE)
def _patterns(rows: bytes) -> Patterns:
    return Patterns((position, RedirectType[type_], source) for position, type_, source in orjson.loads(rows))
