"""The log of a project's changes: which records each publish added, changed or removed, found without reading Git.

Derived from the versions and only ever a cache of them. It is a file of blocks, one a publish, in any order: each names
its publish number and commit, bears a checksum, and depends on that commit and the version before it alone. So a block of
a publish that never happened is harmless: its commit is not the one that the index of versions has at that number.

Layout of a block: head (magic, number, commit, count, length of the details, CRC-32 of all but magic and itself), `count`
record ids of 8 bytes, as many codes of one byte, the details (JSON, may be empty).
"""

import mmap
import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import orjson

from content.diff import Change, ChangeType
from content.record import id_bytes
from content.vocabulary import Kind
from gitstore.changes import ChangesByKind
from gitstore.durable import translated
from gitstore.layout import CommitId

_HEAD = struct.Struct("<4sI20sIII")
_SEALED = struct.Struct("<I20sII")
_CRC = 4
_BEGIN = b"WPC1"
_ID = 8
_ENTRY = _ID + 1
_PLACE_BITS = 32
DETAILED_AT_MOST = 100
_DETAILS_AT_MOST = 65_536
"""Changes, and bytes, up to which a block also holds what they changed; those of an import are read from Git when asked."""
CODES = {(kind, change): at for at, (kind, change) in enumerate(product(Kind, ChangeType))}
_CHANGES = {kind: {CODES[kind, change]: change for change in ChangeType} for kind in Kind}


class Block(NamedTuple):
    """Where the changes of one publish stand in the file: ids from `start`, codes and details after them."""

    number: int
    commit: bytes
    start: int
    entries: int
    details: int

    @property
    def codes(self) -> int:
        """Where the codes begin, which is where the ids end."""
        return self.start + _ID * self.entries

    @property
    def end(self) -> int:
        """Where the next block may begin."""
        return self.start + _ENTRY * self.entries + self.details


class Entries(NamedTuple):
    """The changes of one publish as a block holds them: an id of 8 bytes and a code each, and of few what they changed."""

    ids: bytes
    codes: bytes
    details: bytes = b""


class Noted(NamedTuple):
    """One change of a record: the publish, what happened, and where in the publish's block it stands."""

    number: int
    change: ChangeType
    place: int


def entries_of(changes: ChangesByKind) -> Entries:
    """The entries of changes that are at hand."""
    all_ = [change for kind in Kind for change in changes[kind]]
    ids = b"".join([id_bytes(change.identity) for change in all_])
    return Entries(ids, bytes([CODES[change.kind, change.change] for change in all_]), dump_details(all_))


def dump_block(number: int, commit: CommitId, entries: Entries) -> bytes:
    """The changes of one publish as bytes for the log; 9 a change, and the details of few changes."""
    body = b"".join(entries)
    fields = (number, bytes.fromhex(commit), len(entries.codes), len(entries.details))
    head = _HEAD.pack(_BEGIN, *fields, crc32(body, crc32(_SEALED.pack(*fields))))
    return head + body


def append_blocks(path: Path, blocks: Sequence[bytes]) -> None:
    """Add blocks at the end, behind whatever a crash has left there; only under the lock of those who compile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("ab") as file:
            file.write(b"".join(blocks))
    except OSError as ex:
        raise translated(ex) from ex


class ChangeLog:
    """The log as it stands, of the versions with these commits (20 bytes each); what does not hold is not there."""

    def __init__(self, path: Path, commits: Sequence[bytes]) -> None:
        self._data = _map(path)
        found = (block for block in _blocks(self._data) if block.number <= len(commits))
        self._blocks = {block.number: block for block in found if block.commit == commits[block.number - 1]}
        in_order = sorted(self._blocks.values(), key=attrgetter("start"))
        self._in_order, self._starts = in_order, [block.start for block in in_order]
        self._last: tuple[tuple[Kind, str] | None, Sequence[int]] = (None, ())
        self.missing = [number for number in range(1, len(commits) + 1) if number not in self._blocks]

    def find(self, kind: Kind, record_id: str, window: slice) -> tuple[list[Noted], int]:
        """A window of the changes of the record with an id, newest first, and how many there are in all."""
        places = self._places(kind, record_id)
        return [self._noted(kind, each) for each in places[window]], len(places)

    def _places(self, kind: Kind, record_id: str) -> Sequence[int]:
        """Publish and place of every change of a record, newest first; those of the last one asked for are kept."""
        asked = (kind, record_id)
        last, places = self._last
        if last != asked:
            places = self._find(kind, bytes.fromhex(record_id))
            self._last = asked, places
        return places

    def _find(self, kind: Kind, wanted: bytes) -> Sequence[int]:
        places = []
        at = self._data.find(wanted) if self._starts else -1
        while at >= 0:  # 10,000 hits take 10 milliseconds, a megabyte without one a tenth of one
            block = self._in_order[bisect_right(self._starts, at) - 1]
            place, across = divmod(at - block.start, _ID)
            if across == 0 and 0 <= place < block.entries and self._data[block.codes + place] in _CHANGES[kind]:
                places.append(block.number << _PLACE_BITS | place)
            at = self._data.find(wanted, at + 1)
        places.sort(reverse=True)
        return places

    def _noted(self, kind: Kind, found: int) -> Noted:
        number, place = found >> _PLACE_BITS, found & ~(-1 << _PLACE_BITS)
        return Noted(number, _CHANGES[kind][self._data[self._blocks[number].codes + place]], place)

    def details(self, noted: Noted) -> Mapping[str, Any] | None:
        """The change as JSON, where the log holds that much of it."""
        block = self._blocks[noted.number]
        start = block.codes + block.entries
        found = orjson.loads(self._data[start : start + block.details]) if block.details else []
        details: Mapping[str, Any] | None = found[noted.place] if found else None
        return details


def dump_details(changes: Sequence[Change]) -> bytes:
    """What changes changed, where they are few and small; else nothing."""
    if not changes or len(changes) > DETAILED_AT_MOST:
        return b""
    details = orjson.dumps([change.wire() for change in changes])
    return details if len(details) <= _DETAILS_AT_MOST else b""


def _map(path: Path) -> mmap.mmap | bytes:
    """The file in memory, never changed under it: the log only grows, or is replaced by another file."""
    with suppress(OSError, ValueError), path.open("rb") as file:  # ValueError: an empty file cannot be mapped
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return b""


def _blocks(data: mmap.mmap | bytes) -> Iterator[Block]:
    """The blocks that hold; what is torn or damaged is passed over to where the next one begins."""
    at = data.find(_BEGIN)
    while at >= 0:
        block = _block_at(data, at)
        if block:
            yield block
        at = data.find(_BEGIN, block.end if block else at + 1)


def _block_at(data: mmap.mmap | bytes, at: int) -> Block | None:
    if at + _HEAD.size > len(data):
        return None
    _, number, commit, entries, details, crc = _HEAD.unpack_from(data, at)
    block = Block(number, commit, at + _HEAD.size, entries, details)
    if block.end > len(data):
        return None
    sealed = crc32(data[at + len(_BEGIN) : block.start - _CRC])
    return block if crc32(data[block.start : block.end], sealed) == crc else None
