"""Packs that are sent: objects are copied as their packs hold them, and the rest is written as deltas or whole.

Copied deltas have their base in the same pack or in an earlier one, and no written object has a copied one as its base: so
there is no circle of deltas.
"""

import struct
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha1
from typing import BinaryIO, NamedTuple

from gitstore.errors import Broken
from gitstore.git import deltas
from gitstore.git.pack_entry import dump_delta_header, dump_named_delta_header, dump_whole
from gitstore.git.stored_pack import PackEntry, StoredPack, parse_entry
from gitstore.wire.packs.object_source import ObjectSource

_HEADER = struct.Struct(">4sII")
_CHECKSUM = 20
_PIECE = 4 << 20
# Fewer objects of a pack are written again: its whole index would have to be read to copy them.
_FEWEST_COPIED = 200
_MIN_DELTA_BYTES = 50
_MAX_DELTA_BYTES = 8 << 20  # a delta between two objects of this size takes a second


class PackFormat(NamedTuple):
    """The forms that a client can read: deltas by offset, and (`is_thin`) deltas of objects that it has already."""

    has_offsets: bool = True
    is_thin: bool = False


class PackBody(NamedTuple):
    """The objects of an earlier pack, to be sent first as they are: its bytes with header and checksum, and its ids."""

    data: memoryview
    ids: Collection[bytes]


@dataclass
class SentPack:
    """A pack while it is written to a file; its number of objects is known before."""

    file: BinaryIO
    source: ObjectSource
    format: PackFormat

    def __post_init__(self) -> None:
        self._digest = sha1(usedforsecurity=False)
        self.size = 0

    def write(self, ids: Collection[bytes], earlier: Mapping[bytes, bytes], body: PackBody | None = None) -> None:
        """Write the objects, after those of `body`, if there is one; `earlier` has older versions for deltas.

        Raises Broken for an object or pack that is damaged.
        """
        self._put(_HEADER.pack(b"PACK", 2, len(ids) + (len(body.ids) if body else 0)))
        if body:
            self._copy_checked(body.data)
        left = set(ids)
        chosen = frozenset(left)
        for pack in self.source.packs:
            held = left.intersection(pack.index.ids()) if len(left) >= _FEWEST_COPIED else ()
            if len(held) >= _FEWEST_COPIED:
                left.difference_update(held)
                self._copy(pack, held, chosen)
        written = [object_id for object_id in ids if object_id in left] if left else []
        self._write_each(written, chosen, earlier, body.ids if body else ())
        self._put(self._digest.digest())

    def _copy(self, pack: StoredPack, ids: Collection[bytes], chosen: Collection[bytes]) -> None:
        """Copy objects of a pack: the first one that has an object counts."""
        if len(ids) == pack.index.count and self.format.has_offsets:
            with pack.entries.view() as whole:
                self._copy_checked(whole)
        else:
            _Copy(self, pack, {at for each in ids if (at := pack.index.find(each)) is not None}, chosen).write()

    def _copy_checked(self, whole: memoryview) -> None:
        """Copy all objects of a pack; its own checksum has to be right."""
        digest = sha1(whole[: _HEADER.size], usedforsecurity=False)
        for at in range(_HEADER.size, len(whole) - _CHECKSUM, _PIECE):
            with whole[at : min(at + _PIECE, len(whole) - _CHECKSUM)] as piece:
                digest.update(piece)
                self._put(piece)
        if digest.digest() != whole[-_CHECKSUM:]:
            raise DamagedPack

    def _write_each(
        self, ids: Sequence[bytes], chosen: Collection[bytes], earlier: Mapping[bytes, bytes], held: Collection[bytes]
    ) -> None:
        """Write objects in the order of their commits, so that newer ones can be deltas of older ones."""
        done: set[bytes] = set()
        for object_id in ids:
            base = earlier.get(object_id)
            if base is not None and not (base in done or base in held or (self.format.is_thin and base not in chosen)):
                base = None
            self.write_object(object_id, base)
            done.add(object_id)

    def write_object(self, object_id: bytes, base: bytes | None = None) -> None:
        """Write an object from its bytes, as a delta of the base if that saves half of it."""
        kind, data = self.source.read(object_id)
        delta = None if base is None else self._find_delta(kind, data, base)
        if delta is None or base is None:
            self._put(dump_whole(kind, data))
        else:
            self._put(dump_named_delta_header(base, len(delta)) + zlib.compress(delta))

    def _find_delta(self, kind: int, data: bytes, base: bytes) -> bytes | None:
        other, before = self.source.read(base)
        if other != kind or len(data) < _MIN_DELTA_BYTES or max(len(data), len(before)) > _MAX_DELTA_BYTES:
            return None
        delta = deltas.create(before, data)
        return delta if len(delta) * 2 < len(data) else None

    def put(self, data: bytes | memoryview) -> None:
        """Write bytes of copied objects."""
        self._put(data)

    def _put(self, data: bytes | memoryview) -> None:
        self.file.write(data)
        self._digest.update(data)
        self.size += len(data)


class DamagedPack(Broken):
    """A pack on disk has other bytes than its checksums say."""

    def __init__(self) -> None:
        super().__init__("The repository is damaged: a pack has other bytes than its checksum says.")


@dataclass
class _Copy:
    """The copy of some objects of a pack: runs of them as they are, with new distances to the bases that moved."""

    target: SentPack
    pack: StoredPack
    places: Collection[int]
    chosen: Collection[bytes]
    _moved: dict[int, int] = field(default_factory=dict)
    _run: tuple[int, int] = (0, 0)

    def write(self) -> None:
        """Write the objects in the order of the pack, each checked."""
        for place, start, end in self.pack.in_order():
            if place in self.places:
                self._add(place, start, self.pack.checked_raw(place, start, end))
        self._flush()

    def _add(self, place: int, start: int, raw: bytes) -> None:
        pending = self._run[1] - self._run[0]
        self._moved[start] = self.target.size + pending
        entry = parse_entry(raw, start)
        if self._fits(start, entry):
            if self._run[1] != start:
                self._flush()
                self._run = start, start
            self._run = self._run[0], start + len(raw)
            return
        self._flush()
        self._rewrite(place, start, entry, raw)

    def _fits(self, start: int, entry: PackEntry) -> bool:
        """Tell whether an object can be copied as it is."""
        if entry.base is None:
            return True
        if isinstance(entry.base, bytes):
            return entry.base in self.chosen
        moved = self._moved.get(entry.base)
        return self.target.format.has_offsets and moved is not None and self._moved[start] - moved == start - entry.base

    def _rewrite(self, place: int, start: int, entry: PackEntry, raw: bytes) -> None:
        """Write a delta with the new place of its base, or whole if that is not sent."""
        base = entry.base if isinstance(entry.base, bytes) else self._ids.get(entry.base or 0)
        if base is None or base not in self.chosen:
            self.target.write_object(self.pack.index.id_at(place))
            return
        moved = self._moved.get(entry.base) if isinstance(entry.base, int) else None
        if moved is not None and self.target.format.has_offsets:
            self.target.put(dump_delta_header(self._moved[start] - moved, entry.size))
        else:
            self.target.put(dump_named_delta_header(base, entry.size))
        self.target.put(raw[entry.start - start :])

    @cached_property
    def _ids(self) -> dict[int, bytes]:
        """The ids of all objects of the pack, by their offsets."""
        return dict(zip(self.pack.index.offsets(), self.pack.index.ids(), strict=True))

    def _flush(self) -> None:
        start, end = self._run
        for at in range(start, end, _PIECE):
            self.target.put(self.pack.entries.raw(at, min(at + _PIECE, end)))
        self._run = 0, 0
