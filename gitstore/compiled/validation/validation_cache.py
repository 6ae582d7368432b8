"""The validated sets of rules: a log of fixed-size records, each with the id of a tree.

It is only a cache: a set that is not in it is checked. A record has the edition of the checks, so the results of an
older program no longer count once the checks have changed. Each record is appended with one write, so records of two
processes never mix; a torn record has an invalid checksum, and the records after it are still found.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from content.cache import LruCache
from gitstore.compiled.validation.checks import EDITION
from gitstore.directory import make_folder
from gitstore.errors import OutOfSpace
from gitstore.git.repository import Repository
from gitstore.layout import PROJECT_FILE, TreeId

_RECORD = struct.Struct("<20sHB")
_CRC = struct.Struct("<I")
_SIZE = _RECORD.size + _CRC.size
_VALID, _WARNING_FREE = 1, 2
_KEPT_BYTES = 8 << 20


class _Read(NamedTuple):
    """The bytes of a log, with its size and its time when they were read."""

    size: int
    changed: int
    data: bytes


_logs: LruCache[tuple[Path, int, int], _Read] = LruCache(_KEPT_BYTES, weigh=lambda read: read.size)


class ValidatedTrees:
    """The validated sets of one namespace, whatever project.yaml each tree has: it has no rules."""

    def __init__(self, log: Path, repository: Repository) -> None:
        self._log = log
        self._repository = repository

    def are_valid(self, tree: TreeId, *, without_warnings: bool = False) -> bool:
        """Tell whether today's checks passed the rules of a tree; `without_warnings`, whether they have no warnings either."""
        return is_validated(self._log, self._rules(tree), without_warnings=without_warnings)

    def were_valid(self, tree: TreeId) -> bool:
        """Tell whether the checks of this program, or of an earlier one, passed the rules of a tree."""
        return was_validated(self._log, self._rules(tree))

    def record(self, tree: TreeId, *, without_warnings: bool) -> None:
        """Record that the rules of a tree are valid; without the record they are checked again."""
        with suppress(OutOfSpace, OSError):
            record_validated(self._log, self._rules(tree), without_warnings=without_warnings)

    def _rules(self, tree: TreeId) -> TreeId:
        return self._repository.tree_id_without(tree, PROJECT_FILE)


def is_validated(log: Path, tree: TreeId, *, without_warnings: bool) -> bool:
    """Tell whether a tree is validated; with `without_warnings`, whether the set has no warnings either."""
    return any(found == _WARNING_FREE or not without_warnings for found in _found(log, tree))


def was_validated(log: Path, tree: TreeId) -> bool:
    """Tell whether the checks of any edition validated a tree."""
    return any(True for _ in _found(log, tree, any_edition=True))


def record_validated(log: Path, tree: TreeId, *, without_warnings: bool) -> None:
    """Record that a tree is valid, and whether it has no warnings. Raises OSError if the disk refuses it."""
    if is_validated(log, tree, without_warnings=without_warnings):
        return
    make_folder(log.parent)
    record = _RECORD.pack(bytes.fromhex(tree), EDITION, _WARNING_FREE if without_warnings else _VALID)
    with log.open("ab", buffering=0) as file:
        # O_APPEND sets the offset and writes in one step: https://man7.org/linux/man-pages/man2/open.2.html
        file.write(record + _CRC.pack(crc32(record)))


def _found(log: Path, tree: TreeId, *, any_edition: bool = False) -> Iterator[int]:
    """Yield the results of today's checks for a tree; a search of 10,000 records takes a fraction of a millisecond."""
    try:
        data = _read(log)
    except OSError:
        return
    wanted = bytes.fromhex(tree)
    at = data.find(wanted)
    while at >= 0:
        record, checksum = data[at : at + _RECORD.size], data[at + _RECORD.size : at + _SIZE]
        is_whole = checksum == _CRC.pack(crc32(record))
        if is_whole and (any_edition or _RECORD.unpack(record)[1] == EDITION):
            yield _RECORD.unpack(record)[2]
        at = data.find(wanted, at + 1)


def _read(log: Path) -> bytes:
    """Return the bytes of a log; where this process read it before, only what was appended since is read."""
    with log.open("rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        key = log, status.st_dev, status.st_ino
        known = _logs.find(key)
        if known and known.size == status.st_size and known.changed == status.st_mtime_ns:
            return known.data
        kept = known.data if known and known.size < status.st_size else b""
        file.seek(len(kept))
        data = kept + file.read(status.st_size - len(kept))
    return _logs.put(key, _Read(len(data), status.st_mtime_ns, data)).data
