"""Which sets of rules were found right: a log of records of fixed size, each with the id of a tree.

Only a cache: what is not found here is checked. A record bears the edition of the checks, so what an older program
found right counts for nothing once the checks are others. Records are appended with one write each, so those of two
processes never mix; one that a crash has torn has no checksum that holds, and those behind it are found all the same.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

from gitstore.checks import EDITION
from gitstore.layout import TreeId

_RECORD = struct.Struct("<20sHB")
_CRC = struct.Struct("<I")
_SIZE = _RECORD.size + _CRC.size
_RIGHT, _CLEAN = 1, 2


def was_right(log: Path, tree: TreeId, *, clean: bool) -> bool:
    """Tell whether a tree is known to be right; with `clean`, to be without warnings of the set too."""
    return any(found == _CLEAN or not clean for found in _found(log, tree))


def note_right(log: Path, tree: TreeId, *, clean: bool) -> None:
    """Write down that a tree is right, and whether without any warning; OSError where the disk does not take it."""
    if was_right(log, tree, clean=clean):
        return
    log.parent.mkdir(parents=True, exist_ok=True)
    record = _RECORD.pack(bytes.fromhex(tree), EDITION, _CLEAN if clean else _RIGHT)
    with log.open("ab", buffering=0) as file:
        file.write(record + _CRC.pack(crc32(record)))


def _found(log: Path, tree: TreeId) -> Iterator[int]:
    """What the log says of a tree by the checks of today; 10,000 records are searched in a fraction of a millisecond."""
    try:
        data = log.read_bytes()
    except OSError:
        return
    wanted = bytes.fromhex(tree)
    at = data.find(wanted)
    while at >= 0:
        record, checksum = data[at : at + _RECORD.size], data[at + _RECORD.size : at + _SIZE]
        if checksum == _CRC.pack(crc32(record)) and _RECORD.unpack(record)[1] == EDITION:
            yield _RECORD.unpack(record)[2]
        at = data.find(wanted, at + 1)
