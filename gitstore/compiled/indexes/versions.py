"""The index of a project's published versions: one fixed-size entry per version, found by arithmetic.

It is a cache derived from the first-parent history. Readers stop at the number in their manifest, so an entry that a
crashed publish left behind is never seen, and is overwritten. Each entry has a checksum of its own; a reader that finds
the index damaged or missing rebuilds it.
"""

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.compiled.indexes.number_gaps import Gaps, is_skipped, number_at, place_of
from gitstore.compiled.indexes.sorted_commits import (
    MOST_UNSORTED,
    DamagedTable,
    SortedCommits,
    open_sorted_commits,
    sort_commits,
)
from gitstore.directory import make_folder
from gitstore.errors import BadRequest, Broken, NotFound, OutOfSpace
from gitstore.layout import CommitId, TreeId

_ENTRY = struct.Struct("<20s20sqB6I")
_CRC = struct.Struct("<I")
_SIZE = _ENTRY.size + _CRC.size
_NO_TREE = bytes(20)
_COUNTED, _REFUSED = 1, 2
_SHA = re.compile(r"[0-9a-f]{7,40}")
_NUMBER = re.compile(r"[1-9][0-9]{0,17}|0")
_SHA_LENGTH = 40
_FORM = "A version is a publish number, or 7 to 40 hex digits of its SHA."


def check_version_word(word: str) -> None:
    """Raise BadRequest for a word that cannot be the publish number or SHA of a version."""
    if not (_NUMBER.fullmatch(word) or _SHA.fullmatch(word.lower())):
        raise BadRequest(_FORM)


@dataclass(frozen=True, slots=True)
class Version:
    """One published version. `tree` is None if the publish deleted the project; `counts` is None until computed.

    `refused` is true if plain Git pushed it and the checks found it invalid, so that it was never served.
    """

    number: int
    commit: CommitId
    tree: TreeId | None
    time: int
    counts: dict[Kind, Counts] | None = None
    refused: bool = False


class _Damaged(Exception):
    """An entry is damaged or missing."""


class VersionIndex:
    """The versions of a project up to number `last`; `rebuild` writes the index again, and is called if it is damaged.

    A version has a number, and a place in the history from 1; they differ only if the project skips numbers (`gaps`).
    """

    def __init__(self, path: Path, last: int, rebuild: Callable[[], None], gaps: Gaps = ()) -> None:
        self._path = path
        self.last = last
        self.count = place_of(last, gaps)
        self._gaps = gaps
        self._rebuild = rebuild

    def get(self, number: int) -> Version:
        """Return a version by publish number. Raises NotFound if it does not exist."""
        if not self._has_number(number):
            raise NotFound(f"There is no publish {number}; the newest is {self.last}.")
        return self.at(self.place_of(number))

    def has(self, number: int, commit: CommitId) -> bool:
        """Tell whether a commit has this publish number."""
        return self._has_number(number) and self.get(number).commit == commit

    def at(self, place: int) -> Version:
        """Return the version at a place, from 1."""
        return self._entries(place - 1, place)[0]

    def at_places(self, places: Sequence[int]) -> list[Version]:
        """Return the versions at places, in the given order."""
        if not places:
            return []
        oldest = min(places)
        try:
            data = _read_bytes(self._path, oldest - 1, max(places))
            return [
                _load(number_at(place, self._gaps), data[(at := (place - oldest) * _SIZE) : at + _SIZE])
                for place in places
            ]
        except _Damaged:
            return [self.at(place) for place in places]

    def place_of(self, number: int) -> int:
        """Return the place of the version with a number, or of the last one before a skipped number."""
        return place_of(number, self._gaps)

    def tree_before(self, version: Version) -> TreeId | None:
        """Return the project's tree before a version; None if it did not exist."""
        place = self.place_of(version.number)
        return self.at(place - 1).tree if place > 1 else None

    def window(self, offset: int, limit: int) -> list[Version]:
        """Return versions newest first, `offset` skipped, at most `limit`."""
        newest = self.count - offset
        oldest = max(newest - limit, 0)
        return self._entries(oldest, newest)[::-1] if newest > 0 else []

    def commits(self) -> list[bytes]:
        """Return the commits of all versions, oldest first, 20 bytes each."""
        return self._commits_after(0)

    def _commits_after(self, place: int) -> list[bytes]:
        try:
            return _read_commits(self._path, place, self.count)
        except _Damaged:
            return [bytes.fromhex(version.commit) for version in self._entries(place, self.count)]

    def resolve(self, word: str) -> Version:
        """Return a version by publish number or by 7 to 40 hex digits of its SHA.

        Digits alone are a number, unless there are 40 of them, or no publish has the number and a SHA begins with them.
        """
        if _NUMBER.fullmatch(word) and len(word) < _SHA_LENGTH and self._has_number(int(word)):
            return self.get(int(word))
        if _SHA.fullmatch(word.lower()):
            return self._by_sha(word.lower())
        if _NUMBER.fullmatch(word):
            return self.get(int(word))
        raise BadRequest(_FORM)

    def amend(self, versions: Iterable[Version]) -> None:
        """Write new facts about versions, at each place where the index still has that commit."""
        amend_versions(self._path, versions, self._gaps)

    def _has_number(self, number: int) -> bool:
        return 1 <= number <= self.last and not is_skipped(number, self._gaps)

    def _by_sha(self, prefix: str) -> Version:
        found = self._find(prefix)
        if len(found) > 1:
            raise BadRequest(f"{prefix} is ambiguous: {len(found)} versions begin with it. Give more digits.")
        if not found:
            raise NotFound(f"There is no version {prefix}.")
        return found[0]

    def _find(self, prefix: str) -> list[Version]:
        """Return the versions whose SHA begins with these digits; a damaged entry is repaired or reported."""
        with closing(self._sorted_commits()) as commits, suppress(DamagedTable):
            return self._select(commits, prefix)
        return self._select(self._sort_commits(), prefix)

    def _select(self, commits: SortedCommits, prefix: str) -> list[Version]:
        start = min(len(commits), self.count)
        places = [place for place in commits.places(prefix) if place <= self.count]
        newest = enumerate(self._commits_after(start), start + 1)
        return [self.at(place) for place in [*places, *(at for at, found in newest if found.hex().startswith(prefix))]]

    def _sorted_commits(self) -> SortedCommits:
        """Return the sorted commits of all versions but the newest; of another history, they are sorted again."""
        if self.count <= MOST_UNSORTED:
            return SortedCommits()
        found = open_sorted_commits(self._path)
        with suppress(OSError, _Damaged, DamagedTable):
            if self.count - len(found) <= MOST_UNSORTED and self._continue(found):
                return found
        found.close()
        return self._sort_commits()

    def _continue(self, commits: SortedCommits) -> bool:
        """Tell whether the index continues the sorted commits: it does if the newest of them has its place there."""
        place = len(commits)
        newest = _read(self._path, place - 1, place, self._gaps)[0]
        return commits.places(newest.commit) == [place]

    def _sort_commits(self) -> SortedCommits:
        """Sort the commits of all versions, and write them; without the file they are sorted again the next time."""
        commits = sort_commits(self.commits())
        with suppress(OSError, OutOfSpace):
            commits.write(self._path)
        return commits

    def _entries(self, start: int, end: int) -> list[Version]:
        """Return the versions after place `start` up to place `end`; rebuild the index if they cannot be read."""
        try:
            return _read(self._path, start, end, self._gaps)
        except _Damaged:
            self._rebuild()
        try:
            return _read(self._path, start, end, self._gaps)
        except _Damaged as ex:
            raise Broken("The index of versions cannot be read.") from ex


def is_version_word(word: str) -> bool:
    """Tell whether a word can name a version at all."""
    return _NUMBER.fullmatch(word) is not None or _SHA.fullmatch(word.lower()) is not None


def write_versions(path: Path, versions: list[Version], gaps: Gaps = ()) -> None:
    """Write entries at their places. Earlier ones stay; later ones, of another history, are removed."""
    make_folder(path.parent, levels=2)
    with path.open("r+b" if path.exists() else "w+b") as file:
        file.seek((place_of(versions[0].number, gaps) - 1) * _SIZE)
        file.write(b"".join(map(_dump, versions)))
        file.truncate()


def amend_versions(path: Path, versions: Iterable[Version], gaps: Gaps = ()) -> None:
    """Write new facts about versions, at each place where the index still has that commit."""
    for version in versions:
        if has_commit(path, version.number, version.commit, gaps):
            with path.open("r+b") as file:
                file.seek((place_of(version.number, gaps) - 1) * _SIZE)
                file.write(_dump(version))


def has_commit(path: Path, number: int, commit: CommitId, gaps: Gaps = ()) -> bool:
    """Tell whether the index has that commit at `number`; otherwise it has to be rebuilt."""
    place = place_of(number, gaps)
    try:
        return _read(path, place - 1, place, gaps)[0].commit == commit
    except _Damaged:
        return False


def _read_bytes(path: Path, start: int, end: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start * _SIZE)
            return file.read((end - start) * _SIZE)
    except FileNotFoundError as ex:
        raise _Damaged from ex


def _read_commits(path: Path, start: int, end: int) -> list[bytes]:
    """Read only the commits: 10,000 in a few milliseconds."""
    data = _read_bytes(path, start, end)
    for at in _starts(end - start):
        if data[at + _ENTRY.size : at + _SIZE] != _CRC.pack(crc32(data[at : at + _ENTRY.size])):
            raise _Damaged
    return [data[at : at + 20] for at in _starts(end - start)]


def _read(path: Path, start: int, end: int, gaps: Gaps) -> list[Version]:
    data = _read_bytes(path, start, end)
    return [
        _load(number_at(place, gaps), data[at : at + _SIZE])
        for place, at in zip(range(start + 1, end + 1), _starts(end - start), strict=True)
    ]


def _starts(count: int) -> range:
    return range(0, count * _SIZE, _SIZE)


def _dump(version: Version) -> bytes:
    counted = version.counts or dict.fromkeys(Kind, Counts(0, 0, 0))
    counts = [number for kind in Kind for number in counted[kind]]
    tree = bytes.fromhex(version.tree) if version.tree else _NO_TREE
    flags = _COUNTED * (version.counts is not None) | _REFUSED * version.refused
    entry = _ENTRY.pack(bytes.fromhex(version.commit), tree, version.time, flags, *counts)
    return entry + _CRC.pack(crc32(entry))


def _load(number: int, entry: bytes) -> Version:
    fields, checksum = entry[: _ENTRY.size], entry[_ENTRY.size :]
    if checksum != _CRC.pack(crc32(fields)):
        raise _Damaged
    commit, tree, time, flags, *numbers = _ENTRY.unpack(fields)
    counts = {kind: Counts(*numbers[at * 3 : at * 3 + 3]) for at, kind in enumerate(Kind)} if flags & _COUNTED else None
    tree_id = None if tree == _NO_TREE else TreeId(tree.hex())
    return Version(number, CommitId(commit.hex()), tree_id, time, counts, bool(flags & _REFUSED))
