"""The index of a project's published versions: one fixed-size entry per publish number, found by arithmetic.

It is a cache derived from the first-parent history. Readers stop at the number in their manifest, so an entry that a
crashed publish left behind is never seen, and is overwritten. Each entry has a checksum of its own; a reader that finds
the index damaged or missing rebuilds it.
"""

import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

from content.changes.diff import Counts
from content.records.vocabulary import Kind
from gitstore.directory import make_folder
from gitstore.errors import BadRequest, Broken, NotFound
from gitstore.layout import CommitId, TreeId

_ENTRY = struct.Struct("<20s20sqB6I")
_CRC = struct.Struct("<I")
_SIZE = _ENTRY.size + _CRC.size
_NO_TREE = bytes(20)
_COUNTED, _REFUSED = 1, 2
_SHA = re.compile(r"[0-9a-f]{7,40}")
_NUMBER = re.compile(r"[1-9][0-9]{0,17}|0")
_SHA_LENGTH = 40


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
    """The versions 1 to `last` of a project; `rebuild` writes the index again, and is called if it is damaged."""

    def __init__(self, path: Path, last: int, rebuild: Callable[[], None]) -> None:
        self._path = path
        self.last = last
        self._rebuild = rebuild

    def get(self, number: int) -> Version:
        """Return a version by publish number. Raises NotFound if it does not exist."""
        if not 1 <= number <= self.last:
            raise NotFound(f"There is no publish {number}; the newest is {self.last}.")
        return self._entries(number - 1, number)[0]

    def get_many(self, numbers: Sequence[int]) -> list[Version]:
        """Return versions by publish number, in the given order."""
        if not numbers:
            return []
        oldest = min(numbers)
        try:
            data = _read_bytes(self._path, oldest - 1, max(numbers))
            return [_load(number, data[(at := (number - oldest) * _SIZE) : at + _SIZE]) for number in numbers]
        except _Damaged:
            return [self.get(number) for number in numbers]

    def tree_before(self, version: Version) -> TreeId | None:
        """Return the project's tree before a version; None if it did not exist."""
        return self.get(version.number - 1).tree if version.number > 1 else None

    def window(self, offset: int, limit: int) -> list[Version]:
        """Return versions newest first, `offset` skipped, at most `limit`."""
        newest = self.last - offset
        oldest = max(newest - limit, 0)
        return self._entries(oldest, newest)[::-1] if newest > 0 else []

    def commits(self) -> list[bytes]:
        """Return the commits of all versions, oldest first, 20 bytes each."""
        try:
            return _read_commits(self._path, self.last)
        except _Damaged:
            return [bytes.fromhex(version.commit) for version in self._entries(0, self.last)]

    def resolve(self, word: str) -> Version:
        """Return a version by publish number or by 7 to 40 hex digits of its SHA.

        Digits alone are a number, unless there are 40 of them, or no publish has the number and a SHA begins with them.
        """
        if _NUMBER.fullmatch(word) and len(word) < _SHA_LENGTH and 1 <= int(word) <= self.last:
            return self.get(int(word))
        if _SHA.fullmatch(word.lower()):
            return self._by_sha(word.lower())
        if _NUMBER.fullmatch(word):
            return self.get(int(word))
        raise BadRequest("A version is a publish number, or 7 to 40 hex digits of its SHA.")

    def _by_sha(self, prefix: str) -> Version:
        found = self._numbers(prefix)
        if not found:
            self._entries(0, self.last)  # a damaged entry is repaired or reported, never taken as absent
            found = self._numbers(prefix)
        if len(found) > 1:
            raise BadRequest(f"{prefix} is ambiguous: {len(found)} versions begin with it. Give more digits.")
        if not found:
            raise NotFound(f"There is no version {prefix}.")
        return self.get(found[0])

    def _numbers(self, prefix: str) -> list[int]:
        try:
            data = self._path.read_bytes()[: self.last * _SIZE]
        except FileNotFoundError:
            return []
        begin = bytes.fromhex(prefix[: len(prefix) // 2 * 2])
        return [at // _SIZE + 1 for at in _find_all(data, begin) if data[at : at + 20].hex().startswith(prefix)]

    def _entries(self, start: int, end: int) -> list[Version]:
        """Return the versions after number `start` up to number `end`; rebuild the index if they cannot be read."""
        try:
            return _read(self._path, start, end)
        except _Damaged:
            self._rebuild()
        try:
            return _read(self._path, start, end)
        except _Damaged as ex:
            raise Broken("The index of versions cannot be read.") from ex


def is_version_word(word: str) -> bool:
    """Tell whether a word can name a version at all."""
    return _NUMBER.fullmatch(word) is not None or _SHA.fullmatch(word.lower()) is not None


def write_versions(path: Path, versions: list[Version]) -> None:
    """Write entries at the places of their numbers. Earlier ones stay; later ones, of another history, are removed."""
    make_folder(path.parent, levels=2)
    with path.open("r+b" if path.exists() else "w+b") as file:
        file.seek((versions[0].number - 1) * _SIZE)
        file.write(b"".join(map(_dump, versions)))
        file.truncate()


def amend_versions(path: Path, versions: Iterable[Version]) -> None:
    """Write new facts about versions, at each place where the index still has that commit."""
    for version in versions:
        if has_commit(path, version.number, version.commit):
            with path.open("r+b") as file:
                file.seek((version.number - 1) * _SIZE)
                file.write(_dump(version))


def has_commit(path: Path, number: int, commit: CommitId) -> bool:
    """Tell whether the index has that commit at `number`; otherwise it has to be rebuilt."""
    try:
        return _read(path, number - 1, number)[0].commit == commit
    except _Damaged:
        return False


def _read_bytes(path: Path, start: int, end: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start * _SIZE)
            return file.read((end - start) * _SIZE)
    except FileNotFoundError as ex:
        raise _Damaged from ex


def _read_commits(path: Path, last: int) -> list[bytes]:
    """Read only the commits: 10,000 in a few milliseconds."""
    data = _read_bytes(path, 0, last)
    for at in _starts(last):
        if data[at + _ENTRY.size : at + _SIZE] != _CRC.pack(crc32(data[at : at + _ENTRY.size])):
            raise _Damaged
    return [data[at : at + 20] for at in _starts(last)]


def _read(path: Path, start: int, end: int) -> list[Version]:
    data = _read_bytes(path, start, end)
    return [
        _load(number, data[at : at + _SIZE])
        for number, at in zip(range(start + 1, end + 1), _starts(end - start), strict=True)
    ]


def _starts(count: int) -> range:
    return range(0, count * _SIZE, _SIZE)


def _find_all(data: bytes, begin: bytes) -> Iterator[int]:
    """Yield the offsets of the entries that begin with these bytes; 10,000 are searched in less than a millisecond."""
    at = data.find(begin)
    while at >= 0:
        if at % _SIZE == 0:
            yield at
        at = data.find(begin, at + 1)


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
