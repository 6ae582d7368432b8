"""A new pack: objects written as deltas of their neighbours, with its index, both durable before they have a name."""

import os
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, NamedTuple, cast

from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.pack import OFS_DELTA, pack_object_header, write_pack_index_v2

from gitstore.errors import Broken
from gitstore.git import deltas
from gitstore.git.atomic_io import TEMPORARY_PREFIX, sync_directory, translate_os_error

COMMIT, TREE, BLOB, TAG = 1, 2, 3, 4
TYPES: Mapping[bytes, int] = {b"commit": COMMIT, b"tree": TREE, b"blob": BLOB, b"tag": TAG}
_NAMES = {number: name for name, number in TYPES.items()}
# As C git's: https://git-scm.com/docs/git-pack-objects#Documentation/git-pack-objects.txt---depthltngt
_MAX_DEPTH = 50
_MIN_DELTA_BYTES = 50
_MAX_DELTA_BYTES = 8 << 20  # a delta between two objects of this size takes a second
_HEADER = struct.Struct(">4sII")

Read = Callable[[bytes], tuple[int, bytes]]
"""A reader of objects, by the 20 bytes of their ids; returns type and content."""


class DamagedObject(Broken):
    """An object whose bytes are not those that its id names."""

    def __init__(self, what: str) -> None:
        super().__init__(f"The repository is damaged: {what} cannot be read.")


class _Version(NamedTuple):
    """A written object that the next ones of its group may be deltas of."""

    kind: int
    data: bytes
    offset: int
    depth: int


def dump_object(kind: int, data: bytes) -> bytes:
    """Return the bytes of an object's own file."""
    return zlib.compress(b"%s %d\0%b" % (_NAMES[kind], len(data), data))


def hash_object(kind: int, data: bytes) -> bytes:
    """Return the id of an object, 20 bytes."""
    return sha1(b"%s %d\0%b" % (_NAMES[kind], len(data), data), usedforsecurity=False).digest()


def write_pack(folder: Path, groups: Iterable[Sequence[bytes]], read: Read, *, is_cruft: bool = False) -> str:
    """Write the objects of all groups as one pack and return its name, `pack-…`, without a suffix.

    A group holds the versions of one file, folder or kind, newest first; each becomes a delta of the one before it, so
    that the newest are read fastest. `is_cruft` marks the pack as one of unreachable objects, as C git does.
    Raises OutOfSpace if the disk is full, DamagedObject for an object with other bytes; both leave nothing behind.
    """
    temporary = folder / f"{TEMPORARY_PREFIX}{token_hex(8)}"
    # Without a suffix: dulwich 1.2.21 reads any two files with the suffixes of a pack, also unfinished ones.
    parts = {suffix: temporary.with_name(f"{temporary.name}_{suffix}") for suffix in ("pack", "mtimes", "idx")}
    try:
        with parts["pack"].open("xb+") as file:
            writer = _PackWriter(file)
            for group in groups:
                writer.write_group(group, read)
            checksum = writer.finish()
        _write_index(parts["idx"], writer, checksum)
        if is_cruft:
            _write_times(parts["mtimes"], len(writer.entries), checksum)
        name = f"pack-{checksum.hex()}"
        for suffix, path in parts.items():  # the index last: without it the pack is not read
            if suffix != "mtimes" or is_cruft:
                path.chmod(0o444)
                path.rename(folder / f"{name}.{suffix}")
        if not is_cruft:  # the same objects may have been in a pack of unreachable ones
            (folder / f"{name}.mtimes").unlink(missing_ok=True)
        sync_directory(folder)
    except OSError as ex:
        raise translate_os_error(ex) from ex
    finally:
        for path in parts.values():
            path.unlink(missing_ok=True)
    return name


@dataclass
class _PackWriter:
    """The file of a pack while it is written, and the entries of its index: id, offset and checksum."""

    file: BinaryIO

    def __post_init__(self) -> None:
        self.entries: list[tuple[bytes, int, int]] = []
        self._offset = _HEADER.size
        self.file.write(bytes(_HEADER.size))  # the number of objects is known at the end

    def write_group(self, group: Sequence[bytes], read: Read) -> None:
        """Write the versions of one file; a chain of deltas that is deep enough continues from its head."""
        head: _Version | None = None
        last: _Version | None = None
        for object_id in group:
            kind, data = read(object_id)
            if hash_object(kind, data) != object_id:
                raise DamagedObject(f"object {object_id.hex()}")
            is_next = last is not None and last.depth < _MAX_DEPTH
            base = last if is_next else head
            written = self._write(object_id, kind, data, base)
            if not is_next or written.depth == 0:
                head = written
            last = written

    def _write(self, object_id: bytes, kind: int, data: bytes, base: _Version | None) -> _Version:
        delta = _find_delta(base, kind, data)
        if delta is None or base is None:
            header = pack_object_header(kind, None, len(data), DEFAULT_OBJECT_FORMAT)
            content, depth = data, 0
        else:
            header = pack_object_header(OFS_DELTA, self._offset - base.offset, len(delta), DEFAULT_OBJECT_FORMAT)
            content, depth = delta, base.depth + 1
        record = bytes(header) + zlib.compress(content)
        version = _Version(kind, data, self._offset, depth)
        self.entries.append((object_id, self._offset, zlib.crc32(record)))
        self.file.write(record)
        self._offset += len(record)
        return version

    def finish(self) -> bytes:
        """Write the header and the checksum of the whole, and sync the file; return the checksum."""
        self.file.seek(0)
        self.file.write(_HEADER.pack(b"PACK", 2, len(self.entries)))
        self.file.seek(0)
        digest = sha1(usedforsecurity=False)
        while chunk := self.file.read(1 << 20):
            digest.update(chunk)
        self.file.write(digest.digest())
        self.file.flush()
        os.fsync(self.file.fileno())
        self.entries.sort()
        return digest.digest()


def _find_delta(base: _Version | None, kind: int, data: bytes) -> bytes | None:
    """Return the delta from a base; None where there is none that saves half of the object."""
    if base is None or base.kind != kind or base.depth >= _MAX_DEPTH:
        return None
    smaller, larger = sorted((len(base.data), len(data)))
    if len(data) < _MIN_DELTA_BYTES or larger > _MAX_DELTA_BYTES or smaller * 2 < larger:
        return None
    delta = deltas.create(base.data, data)
    return delta if len(delta) * 2 < len(data) else None


def _write_index(path: Path, writer: _PackWriter, checksum: bytes) -> None:
    with path.open("xb") as file:
        write_pack_index_v2(file, cast("list[tuple[bytes, int, int | None]]", writer.entries), checksum)
        file.flush()
        os.fsync(file.fileno())


def _write_times(path: Path, count: int, checksum: bytes) -> None:
    """Write the times of a pack of unreachable objects: https://git-scm.com/docs/gitformat-pack#_pack_mtimes_files_have_the_format."""
    times = struct.pack(">4sII", b"MTME", 1, 1) + struct.pack(">I", int(time.time())) * count + checksum
    with path.open("xb") as file:
        file.write(times + sha1(times, usedforsecurity=False).digest())
        file.flush()
        os.fsync(file.fileno())
