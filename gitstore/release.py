"""A release of one project: compiled into one immutable file, memory-mapped by every worker.

A window of a list is two offsets and one slice; matching reads the tables in place. The file is named by the
project's tree, so the same content is compiled once, whichever commits or projects lead to it; so it holds no project's name.
"""

import mmap
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from hashlib import sha256
from itertools import accumulate
from pathlib import Path
from typing import Any

import orjson

from content.canonical import exact_key
from content.matching import Matcher
from content.record import Page, Placed, Redirect, page_of, redirect_of
from content.vocabulary import Kind, RedirectType
from gitstore.durable import replace_file, sync_directory
from gitstore.key_table import dump_table, find_positions
from gitstore.layout import TreeId
from gitstore.project_file import ProjectFile
from gitstore.sections import dump_sections, load_sections
from gitstore.snapshot import RuleFile, Snapshot

FORMAT = "1"
"""Part of every file name: raise it when the file's content or its meaning changes."""


def release_path(folder: Path, tree: TreeId) -> Path:
    """Where the release of a tree stands."""
    return folder / f"{tree}.{FORMAT}"


def dump_release(snapshot: Snapshot) -> bytes:
    """Compile a snapshot. What it costs follows its bytes (copied, not parsed) and its files."""
    sections: dict[str, Sequence[bytes]] = {}
    meta: dict[str, Any] = {"hosts": sorted(snapshot.hosts), "settings": asdict(snapshot.settings)}
    for kind in Kind:
        files = snapshot.rule_files[kind]
        laid_out = [_lay_out(snapshot, file) for file in files]
        items = [data for data, _ in laid_out]
        meta[kind.value] = _meta(files, items)
        sections[f"{kind}.items"] = items
        sections[f"{kind}.offsets"] = [_offsets([ends for _, ends in laid_out])]
        sections[f"{kind}.keys"] = [dump_table(_keys(files))]
        sections[f"{kind}.lines"] = [array("I", file.part.lines).tobytes() for file in files]
    sections["patterns"] = [orjson.dumps(list(_patterns(snapshot.rule_files[Kind.REDIRECTS])))]
    return dump_sections({"meta": [orjson.dumps(meta)], **sections})


_READ_ONLY = 0o444
"""Workers have the file mapped: whoever cuts it short in place kills them all, which nobody shall do by accident."""


def store_release(path: Path, data: bytes) -> None:
    """Put a compiled release in its place, durably."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, data, mode=_READ_ONLY)
    sync_directory(path.parent)


def _meta(files: Sequence[RuleFile], items: Sequence[bytes]) -> dict[str, Any]:
    digest = sha256()
    for chunk in items:
        digest.update(chunk)
    return {
        "total": sum(len(file.part) for file in files),
        "files": [[file.path, len(file.part)] for file in files],
        "sha256": digest.hexdigest(),
    }


def _lay_out(snapshot: Snapshot, file: RuleFile) -> tuple[bytes, Sequence[int]]:
    """The JSON of a file's records and where each ends; one that leaves contents to files is written with them."""
    if not any("file" in extra for extra in file.part.extras.values()):
        return bytes(file.part.items), list(file.part.offsets)[1:]
    items = [orjson.dumps(snapshot.whole(file, record).wire()) + b"," for record in file.part.records]
    return b"".join(items), list(accumulate(map(len, items)))


def _offsets(ends_of_files: Iterable[Sequence[int]]) -> bytes:
    offsets = array("Q", [0])
    for ends in ends_of_files:
        base = offsets[-1]
        offsets.extend([base + end for end in ends])
    return offsets.tobytes()


def _keys(files: Sequence[RuleFile]) -> list[int]:
    """All table entries: sorted runs, one a file, which sorting the whole then only has to merge."""
    entries: list[int] = []
    base = 0
    for file in files:
        entries += [entry + base for entry in file.part.keys]
        base += len(file.part)
    return entries


def _patterns(files: Sequence[RuleFile]) -> Iterator[tuple[int, str, str]]:
    base = 0
    for file in files:
        for position, type_, source in file.part.patterns:
            yield base + position, type_, source
        base += len(file.part)


class Listing:
    """One list of a release: the JSON of its items, and where each begins."""

    def __init__(self, project: str, kind: Kind, meta: dict[str, Any], sections: dict[str, memoryview]) -> None:
        self.total: int = meta["total"]
        self.sha256: str = meta["sha256"]
        self.items = sections[f"{kind}.items"]
        self.offsets = sections[f"{kind}.offsets"].cast("Q")
        self.keys = sections[f"{kind}.keys"].cast("Q")
        self._lines = sections[f"{kind}.lines"].cast("I")
        self._files: list[str] = [f"{project}/{path}" for path, _ in meta["files"]]
        self._starts = list(accumulate((count for _, count in meta["files"]), initial=0))

    def window(self, offset: int, limit: int) -> tuple[memoryview, int]:
        """The items from `offset`, at most `limit`, as JSON with commas between, and how many they are."""
        start = min(offset, self.total)
        end = min(start + limit, self.total)
        if end == start:
            return self.items[:0], 0
        return self.items[self.offsets[start] : self.offsets[end] - 1], end - start

    def item(self, position: int) -> dict[str, Any]:
        """One item's fields."""
        found: dict[str, Any] = orjson.loads(self.window(position, 1)[0])
        return found

    def place(self, position: int) -> tuple[str, int]:
        """The file (path in the namespace) and line of an item."""
        return self._files[bisect_right(self._starts, position) - 1], self._lines[position]


class Release:
    """A project's published lists, read in place; also where a Matcher looks rules up."""

    def __init__(self, project: str, buffer: memoryview, *, trusted: bool = False) -> None:
        """Read a compiled release; raises `sections.Damaged` where the bytes are not what was written.

        Bytes that this process has just made are trusted: their checksum is not computed again.
        """
        sections = load_sections(buffer, trusted=trusted)
        meta = orjson.loads(sections["meta"])
        self.settings = ProjectFile(**meta["settings"])
        self._patterns = sections["patterns"]
        self._hosts: list[str] = meta["hosts"]
        self.listings = {kind: Listing(project, kind, meta[kind.value], sections) for kind in Kind}

    @cached_property
    def matcher(self) -> Matcher:
        """Answers requests by these rules; its patterns are compiled at the first question."""
        return Matcher(self)

    @classmethod
    def open(cls, project: str, path: Path) -> "Release":
        """Map a compiled release; FileNotFoundError or Damaged where it has to be compiled again."""
        with path.open("rb") as file:
            return cls(project, memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))

    def redirects_at(self, key: str) -> Sequence[int]:
        """The positions of the exact redirects that have this key, in file order."""
        listing = self.listings[Kind.REDIRECTS]
        return [at for at in find_positions(listing.keys, key) if _exact_key(listing.item(at), "source") == key]

    def pages_at(self, key: str) -> Sequence[int]:
        """The positions of the pages that have this key, in file order."""
        listing = self.listings[Kind.PAGES]
        return [at for at in find_positions(listing.keys, key) if _exact_key(listing.item(at), "path") == key]

    def redirect(self, position: int) -> Placed[Redirect]:
        """One redirect with its place."""
        listing = self.listings[Kind.REDIRECTS]
        return Placed(redirect_of(listing.item(position)), *listing.place(position), position)

    def page(self, position: int) -> Placed[Page]:
        """One page with its place."""
        listing = self.listings[Kind.PAGES]
        return Placed(page_of(listing.item(position)), *listing.place(position), position)

    def patterns(self) -> Sequence[tuple[int, RedirectType, str]]:
        """All regex redirects as (position, type, source), in file order."""
        rows = orjson.loads(self._patterns)
        return [(position, RedirectType(type_), source) for position, type_, source in rows]

    def hosts(self) -> Collection[str]:
        """The hosts that exact redirects and pages name."""
        return self._hosts


def _exact_key(item: dict[str, Any], name: str) -> str:
    return exact_key(item["type"].endswith("_HOST"), item[name])
