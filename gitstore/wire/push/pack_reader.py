"""A pushed pack, read strictly into a quarantine: complete, valid object by object, and with an index of its own.

The memory for it hardly depends on the size of the pack: contents are read again from the file where a delta needs
them. All bytes that are produced count, also those of a second time.
"""

import hashlib
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from content.cache import LruCache
from gitstore.errors import Broken, InvalidPush
from gitstore.git import deltas
from gitstore.git.new_pack import BLOB
from gitstore.git.pack_entry import dump_in_pieces
from gitstore.git.repository import Repository
from gitstore.git.stored_pack import parse_entry
from gitstore.wire.push.object_rules import NAMES, Special, check_object, check_special
from gitstore.wire.push.pack_objects import NONE, PackObjects
from gitstore.wire.push.pack_stream import HEADER, OFS_DELTA, EntryHead, PackStream
from gitstore.wire.push.push_limits import PushLimits
from gitstore.wire.push.references import References

MAX_CHAIN = 250
"""The deltas from a whole object on; C git makes 50, and 250 when asked for the smallest pack."""
_MOST_SPECIAL = 10_000
_CACHED_BYTES = 16 << 20  # of the bases of deltas
_PIECE = 1 << 16

Progress = Callable[[int, int], None]
"""Called with the number of objects that are checked, and of all."""


class ReceivedPack(NamedTuple):
    """A pack in quarantine: its path without a suffix, its objects' types by id, and the bases that were added to it."""

    path: Path
    kinds: dict[bytes, int]
    bases: frozenset[bytes]
    inflated: int

    @classmethod
    def none(cls) -> "ReceivedPack":
        """Return the pack of a push that has none."""
        return cls(Path(), {}, frozenset(), 0)


class PackReader:
    """The reading of one pack, from the rest of a file into a folder; `references` gets what its objects name."""

    def __init__(
        self, file: BinaryIO, folder: Path, repository: Repository, references: References, limits: PushLimits
    ) -> None:
        self._path = folder / "incoming"
        self._copy = self._path.open("xb+")
        self._stream = PackStream(file, self._copy, limits)
        self._repository = repository
        self._references = references
        self._limits = limits
        self._objects = PackObjects()
        self._numbers = dict[bytes, int]()
        self._wanted = dict[bytes, int]()  # the first delta of each base that is not seen yet
        self._contents: LruCache[int, bytes] = LruCache(_CACHED_BYTES, weigh=len)
        self._bases = set[bytes]()
        self._special = set[Special]()
        self._end = 0

    def read(self, progress: Progress) -> ReceivedPack:
        """Read the pack, and write it with its index, durably. Raises InvalidPush.

        A base that a delta needs of the repository is added to the pack.
        """
        try:
            count = self._stream.read_header()
            for _ in range(count):
                self._read_entry()
                progress(len(self._numbers), count)
            checksum = self._stream.finish()
            self._end = self._stream.offset
            for _ in self._resolve_all():
                progress(len(self._numbers), count)
            self._check_special()
            return self._finish(checksum if self._end == self._stream.offset else self._complete())
        finally:
            self._contents.clear()
            self._copy.close()

    def _read_entry(self) -> None:
        head = self._stream.read_head()
        self._stream.count(head.size)
        if head.is_delta:
            start = b"".join(self._stream.inflate(head))
            number = self._objects.append(head.offset, 0, b"", self._stream.crc)
            self._require_result(start)
            self._note_base(number, head)
        else:
            object_id = self._read_whole(head)
            self._name(self._objects.append(head.offset, head.kind, object_id, self._stream.crc), object_id)

    def _read_whole(self, head: EntryHead) -> bytes:
        """Read an object that is no delta; return its id. A blob is never in memory as a whole."""
        digest, pieces = _hash_head(head.kind, head.size), list[bytes]()
        for piece in self._stream.inflate(head):
            digest.update(piece)
            if head.kind != BLOB:
                pieces.append(piece)
        self._check(head.kind, digest.digest(), b"".join(pieces))
        return digest.digest()

    def _check(self, kind: int, object_id: bytes, data: bytes) -> None:
        if kind != BLOB:
            checked = check_object(kind, object_id, data)
            for reference in checked.references:
                self._references.add(reference)
            self._special.update(checked.special)
            if len(self._special) > _MOST_SPECIAL:
                raise InvalidPush("the pack has too many versions of .gitattributes; push fewer commits at once")

    def _require_result(self, delta: bytes) -> None:
        self._limits.require_size(_result_size(delta))

    def _note_base(self, number: int, head: EntryHead) -> None:
        if head.kind == OFS_DELTA:
            base = self._objects.find(head.offset - head.distance) if 0 < head.distance < head.offset else None
            if base is None:
                raise InvalidPush("a delta in the pack has no base")
            self._objects.link(number, base)
        elif head.base in self._numbers:
            self._objects.link(number, self._numbers[head.base])
        else:
            self._wanted[head.base] = self._objects.chain(number, self._wanted.get(head.base))

    def _name(self, number: int, object_id: bytes) -> None:
        """Note the id of an object, and the deltas that waited for it."""
        if object_id in self._numbers:
            raise InvalidPush(f"the pack has the object {object_id.hex()} twice")
        self._numbers[object_id] = number
        waiting = self._wanted.pop(object_id, None)
        if waiting is not None:
            self._objects.adopt(waiting, number)

    def _resolve_all(self) -> Iterator[None]:
        """Resolve all deltas, those of each whole object first; yield after each one."""
        for number in range(len(self._objects)):
            if self._objects.kinds[number] and self._objects.bases[number] == NONE:
                yield from self._resolve(number)
        for object_id in list(self._wanted):
            if object_id in self._wanted:
                yield from self._resolve(self._add_base(object_id))
        if len(self._numbers) < len(self._objects):
            raise InvalidPush("a delta in the pack has no base")

    def _resolve(self, root: int) -> Iterator[None]:
        """Resolve the deltas of an object, theirs, and so on."""
        ahead = self._objects.deltas(root)
        while ahead:
            number = ahead.pop()
            base = self._objects.bases[number]
            if self._objects.depth(number) > MAX_CHAIN:
                raise InvalidPush(
                    f"the pack has a chain of more than {MAX_CHAIN} deltas; run `git repack -adf`, then push"
                )
            kind, data = self._objects.kinds[base], self._content(number)
            digest = _hash_head(kind, len(data))
            digest.update(data)
            self._check(kind, digest.digest(), data)
            self._objects.resolve(number, kind, digest.digest())
            self._name(number, digest.digest())
            ahead += self._objects.deltas(number)
            yield

    def _content(self, number: int) -> bytes:
        """Return the content of an object, from those of the bases that are still in memory."""
        chain = list[int]()
        found = self._contents.find(number)
        while found is None and self._objects.bases[number] != NONE:
            chain.append(number)
            number = self._objects.bases[number]
            found = self._contents.find(number)
        data = self._contents.put(number, self._read_again(number)) if found is None else found
        for each in reversed(chain):
            data = self._apply(data, self._read_again(each))
            if self._objects.has_deltas(each):
                self._contents.put(each, data)
        return data

    def _apply(self, base: bytes, delta: bytes) -> bytes:
        self._stream.count(_result_size(delta))
        try:
            return deltas.apply(base, delta)
        except deltas.InvalidDelta as ex:
            raise InvalidPush("the pack is damaged: a delta does not fit its base") from ex

    def _read_again(self, number: int) -> bytes:
        """Read the content of an entry, of a delta the delta itself."""
        start, following = self._objects.offsets[number], number + 1
        end = self._objects.offsets[following] if following < len(self._objects) else self._end
        self._copy.flush()
        data = os.pread(self._copy.fileno(), end - start, start)
        content = zlib.decompress(memoryview(data)[parse_entry(data, 0).start :])
        self._stream.count(len(content))
        return content

    def _add_base(self, object_id: bytes) -> int:
        """Add an object of the repository to the pack, as the base of deltas."""
        try:
            kind, data = self._repository.raw(object_id.hex())
        except Broken as ex:
            raise InvalidPush(
                f"the object {object_id.hex()} is missing, which the push needs; fetch, then push again"
            ) from ex
        self._stream.count(len(data))
        self._copy.seek(self._end)
        start, checksum = self._end, 0
        for piece in dump_in_pieces(kind, data):
            checksum = zlib.crc32(piece, checksum)
            self._copy.write(piece)
            self._end += len(piece)
        number = self._objects.append(start, kind, object_id, checksum)
        self._bases.add(object_id)
        self._contents.put(number, data)
        self._name(number, object_id)
        return number

    def _check_special(self) -> None:
        for special in self._special:
            number = self._numbers.get(special.id)
            if number is None:
                with suppress(Broken):  # it is missing, which is found with all other objects
                    check_special(special.name, self._repository.raw(special.id.hex())[1])
            elif self._objects.kinds[number] == BLOB:
                check_special(special.name, self._content(number))

    def _complete(self) -> bytes:
        """Write the header and the checksum again, for a pack that bases were added to; return the checksum."""
        self._copy.seek(0)
        self._copy.write(HEADER.pack(b"PACK", 2, len(self._objects)))
        self._copy.seek(0)
        digest = hashlib.sha1(usedforsecurity=False)
        while piece := self._copy.read(_PIECE):
            digest.update(piece)
        return digest.digest()

    def _finish(self, checksum: bytes) -> ReceivedPack:
        self._copy.seek(self._end)
        self._copy.write(checksum)
        self._copy.flush()
        os.fsync(self._copy.fileno())
        path = self._path.with_name(f"pack-{checksum.hex()}")
        self._path.rename(f"{path}.pack")
        self._objects.write_index(Path(f"{path}.idx"), checksum)
        kinds, types = self._numbers, self._objects.kinds
        for object_id, number in kinds.items():
            kinds[object_id] = types[number]
        return ReceivedPack(path, kinds, frozenset(self._bases), self._stream.inflated)


def _hash_head(kind: int, size: int) -> "hashlib._Hash":
    return hashlib.sha1(b"%s %d\0" % (NAMES[kind].encode(), size), usedforsecurity=False)


def _result_size(delta: bytes) -> int:
    try:
        return deltas.read_sizes(delta)[1]
    except deltas.InvalidDelta as ex:
        raise InvalidPush("a delta in the pack has no size") from ex
