"""The log of a project's changes: the records that each publish added, changed or removed, without reading Git.

It is a cache derived from the versions. The file has a block for each publish, in any order: with its place in the history
and its commit, a checksum, and content that depends only on that commit and the version before it. So a block of a publish
that never happened is harmless: the index of versions has another commit at that place.

Layout of a block: head (magic, place, commit, count, length of the details, CRC-32 of all but magic and itself),
`count` record ids of 8 bytes, as many codes of one byte, the details (JSON, may be empty).
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

from content.changes.diff import Change, ChangeType
from content.records.record import id_bytes
from content.records.vocabulary import Kind
from gitstore.compiled.segments.changes import ChangesByKind
from gitstore.directory import make_folder
from gitstore.git.atomic_io import translate_os_error
from gitstore.layout import CommitId

_HEAD = struct.Struct("<4sI20sIII")
_SEALED = struct.Struct("<I20sII")
_CRC = 4
_BEGIN = b"WPC2"  # raised when the changes of a publish are computed in another way: older blocks are read again
_ID = 8
_ENTRY = _ID + 1
_PLACE_BITS = 32
# Up to so many changes, and bytes, a block also has the details; those of an import are read from Git on request.
MAX_DETAILED_CHANGES = 100
_MAX_DETAILS_BYTES = 65_536
CODES = {(kind, change): at for at, (kind, change) in enumerate(product(Kind, ChangeType))}
_CHANGES = {kind: {CODES[kind, change]: change for change in ChangeType} for kind in Kind}


class Block(NamedTuple):
    """The position of one publish's changes in the file: ids from `start`, then the codes, then the details.

    `publish` is the place of the publish in the history, from 1.
    """

    publish: int
    commit: bytes
    start: int
    entries: int
    details: int

    @property
    def codes(self) -> int:
        """The offset of the codes, right after the ids."""
        return self.start + _ID * self.entries

    @property
    def end(self) -> int:
        """The offset right after the block."""
        return self.start + _ENTRY * self.entries + self.details


class BlockEntries(NamedTuple):
    """The changes of one publish in a block: an id of 8 bytes and a code each, and the details if they are few."""

    ids: bytes
    codes: bytes
    details: bytes = b""


class LoggedChange(NamedTuple):
    """One change of a record: the place of its publish, the type of change, and its index in the publish's block."""

    publish: int
    change: ChangeType
    place: int


def build_entries(changes: ChangesByKind) -> BlockEntries:
    """Build the entries of changes."""
    all_ = [change for kind in Kind for change in changes[kind]]
    ids = b"".join([id_bytes(change.identity) for change in all_])
    return BlockEntries(ids, bytes([CODES[change.kind, change.change] for change in all_]), dump_details(all_))


def dump_block(publish: int, commit: CommitId, entries: BlockEntries) -> bytes:
    """Return the changes of the publish at a place as bytes; 9 per change, and the details if they are few."""
    body = b"".join(entries)
    fields = (publish, bytes.fromhex(commit), len(entries.codes), len(entries.details))
    head = _HEAD.pack(_BEGIN, *fields, crc32(body, crc32(_SEALED.pack(*fields))))
    return head + body


def append_blocks(path: Path, blocks: Sequence[bytes]) -> None:
    """Append blocks, after any bytes that a crash left; only under the compile lock."""
    make_folder(path.parent, levels=2)
    try:
        with path.open("ab") as file:
            file.write(b"".join(blocks))
    except OSError as ex:
        raise translate_os_error(ex) from ex


class ChangeLog:
    """The log for versions with these commits (20 bytes each), as it is now. Invalid blocks count as missing."""

    def __init__(self, path: Path, commits: Sequence[bytes]) -> None:
        self._data = _map(path)
        found = (block for block in _blocks(self._data) if block.publish <= len(commits))
        self._blocks = {block.publish: block for block in found if block.commit == commits[block.publish - 1]}
        in_order = sorted(self._blocks.values(), key=attrgetter("start"))
        self._in_order, self._starts = in_order, [block.start for block in in_order]
        self._last: tuple[tuple[Kind, str] | None, Sequence[int]] = (None, ())
        self.missing = [publish for publish in range(1, len(commits) + 1) if publish not in self._blocks]

    def find(self, kind: Kind, record_id: str, window: slice) -> tuple[list[LoggedChange], int]:
        """Return a window of the changes of the record with an id, newest first, and the number of all."""
        places = self._places(kind, record_id)
        return [self._read_change(kind, each) for each in places[window]], len(places)

    def _places(self, kind: Kind, record_id: str) -> Sequence[int]:
        """Return publish and index of every change of a record, newest first; the last result is cached."""
        key = (kind, record_id)
        last, places = self._last
        if last != key:
            places = self._find(kind, bytes.fromhex(record_id))
            self._last = key, places
        return places

    def _find(self, kind: Kind, wanted: bytes) -> Sequence[int]:
        places = []
        at = self._data.find(wanted) if self._starts else -1
        while at >= 0:  # 10,000 hits take 10 milliseconds, a megabyte without hits 0.1
            block = self._in_order[bisect_right(self._starts, at) - 1]
            place, across = divmod(at - block.start, _ID)
            if across == 0 and 0 <= place < block.entries and self._data[block.codes + place] in _CHANGES[kind]:
                places.append(block.publish << _PLACE_BITS | place)
            at = self._data.find(wanted, at + 1)
        places.sort(reverse=True)
        return places

    def _read_change(self, kind: Kind, found: int) -> LoggedChange:
        publish, place = found >> _PLACE_BITS, found & ~(-1 << _PLACE_BITS)
        return LoggedChange(publish, _CHANGES[kind][self._data[self._blocks[publish].codes + place]], place)

    def details(self, logged_change: LoggedChange) -> Mapping[str, Any] | None:
        """Return the change as JSON, or None if the log has no details of it."""
        block = self._blocks[logged_change.publish]
        start = block.codes + block.entries
        found = orjson.loads(self._data[start : start + block.details]) if block.details else []
        details: Mapping[str, Any] | None = found[logged_change.place] if found else None
        return details


def dump_details(changes: Sequence[Change]) -> bytes:
    """Return the details of changes, if they are few and small; else nothing."""
    if not changes or len(changes) > MAX_DETAILED_CHANGES:
        return b""
    details = orjson.dumps([change.wire() for change in changes])
    return details if len(details) <= _MAX_DETAILS_BYTES else b""


def _map(path: Path) -> mmap.mmap | bytes:
    """Map the file into memory. Its bytes never change: the log only grows, or another file replaces it."""
    with (
        suppress(OSError, ValueError),
        path.open("rb") as file,
    ):  # ValueError: an empty file, see https://docs.python.org/3/library/mmap.html
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return b""


def _blocks(data: mmap.mmap | bytes) -> Iterator[Block]:
    """Yield the valid blocks; torn or damaged bytes are skipped up to the next beginning of a block."""
    at = data.find(_BEGIN)
    while at >= 0:
        block = _block_at(data, at)
        if block:
            yield block
        at = data.find(_BEGIN, block.end if block else at + 1)


def _block_at(data: mmap.mmap | bytes, at: int) -> Block | None:
    if at + _HEAD.size > len(data):
        return None
    _, publish, commit, entries, details, crc = _HEAD.unpack_from(data, at)
    block = Block(publish, commit, at + _HEAD.size, entries, details)
    if block.end > len(data):
        return None
    sealed = crc32(data[at + len(_BEGIN) : block.start - _CRC])
    return block if crc32(data[block.start : block.end], sealed) == crc else None
