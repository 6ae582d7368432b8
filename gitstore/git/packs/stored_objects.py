"""All objects of a repository as they are on disk, with those that it borrows: found, read, and marked when they are reached.

A mark is a byte, so that the memory does not grow with the size of a repository's contents.
"""

import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from gitstore.git.alternates import list_borrowed
from gitstore.git.object_log import object_path
from gitstore.git.packs.new_pack import TYPES, DamagedObject, hash_object
from gitstore.git.packs.object_files import list_loose
from gitstore.git.packs.stored_pack import Content, StoredPack

_PACK = "pack-*.pack"
_READ = 1 << 16


class DamagedFile(NamedTuple):
    """A pack that cannot be opened, and the part of it that is damaged."""

    path: Path
    reason: str


class Place(NamedTuple):
    """The place of an object: a number of a pack and a place in its index, or (-1) the id of one with its own file."""

    pack: int
    at: int


LOOSE = Place(-1, -1)


class StoredObjects:
    """The object files of a repository, open: packs that are removed meanwhile can still be read."""

    def __init__(self, repository: Path) -> None:
        self.path = repository
        self.folders = [repository / "objects", *map(Path, list_borrowed(repository / "objects"))]
        self.damaged: list[DamagedFile] = []
        self.packs: list[StoredPack] = []
        for folder in self.folders:
            for path in sorted((folder / "pack").glob(_PACK)):
                self._open(path)
        self.packs.sort(key=lambda pack: -pack.index.count)  # most objects are in the largest one

    def close(self) -> None:
        """Close all packs."""
        for pack in self.packs:
            pack.close()

    def list_loose(self) -> Iterator[bytes]:
        """Yield the ids of the objects with a file of their own, without the borrowed ones."""
        for object_id, _ in list_loose(self.folders[0]):
            yield object_id

    def find(self, object_id: bytes) -> Place | None:
        """Return the place of an object, or None."""
        for number, pack in enumerate(self.packs):
            at = pack.index.find(object_id)
            if at is not None:
                return Place(number, at)
        return LOOSE if self.loose_path(object_id) else None

    def loose_path(self, object_id: bytes) -> Path | None:
        """Return the own file of an object, or None."""
        paths = (object_path(folder, object_id.hex()) for folder in self.folders)
        return next((path for path in paths if path.exists()), None)

    def read(self, object_id: bytes, place: Place) -> Content:
        """Read an object, checked against its id. Raises DamagedObject."""
        if place != LOOSE:
            return self.packs[place.pack].read(place.at)
        path = self.loose_path(object_id)
        if path is None:
            raise DamagedObject(f"object {object_id.hex()}")
        return read_loose(path, object_id)

    def find_any(self, object_id: bytes) -> Content | None:
        """Read an object from whatever place has an intact copy of it; None if no place has."""
        for pack in self.packs:
            at = pack.index.find(object_id)
            if at is not None:
                with suppress(DamagedObject):
                    return pack.read(at)
        for folder in self.folders:
            with suppress(DamagedObject, OSError):
                return read_loose(object_path(folder, object_id.hex()), object_id)
        return None

    def _open(self, path: Path) -> None:
        try:
            self.packs.append(StoredPack(path.with_suffix("")))
        except FileNotFoundError:
            if path.exists():
                self.damaged.append(DamagedFile(path, "it has no index"))
        except DamagedObject as ex:
            self.damaged.append(DamagedFile(path, str(ex)))


class Marks:
    """A byte for each object: 0 until it is set."""

    def __init__(self, objects: StoredObjects) -> None:
        self._packed = [bytearray(pack.index.count) for pack in objects.packs]
        self._loose: dict[bytes, int] = {}

    def get(self, object_id: bytes, place: Place) -> int:
        """Return the mark of an object."""
        return self._loose.get(object_id, 0) if place == LOOSE else self._packed[place.pack][place.at]

    def set(self, object_id: bytes, place: Place, mark: int) -> None:
        """Set the mark of an object."""
        if place == LOOSE:
            self._loose[object_id] = mark
        else:
            self._packed[place.pack][place.at] = mark

    def packed(self, pack: int, at: int) -> int:
        """Return the mark of an object in a pack."""
        return self._packed[pack][at]

    def loose(self) -> list[bytes]:
        """Return the objects with a file of their own that have a mark, in the order of their ids."""
        return sorted(object_id for object_id, mark in self._loose.items() if mark)

    def count(self) -> int:
        """Return the number of objects with a mark."""
        return len(self.loose()) + sum(len(marks) - marks.count(0) for marks in self._packed)


def read_loose(path: Path, object_id: bytes) -> Content:
    """Read an object's own file, checked against its id. Raises DamagedObject, FileNotFoundError or another OSError."""
    damaged = DamagedObject(f"object {object_id.hex()}")
    stream, parts = zlib.decompressobj(), list[bytes]()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_READ):
                parts.append(stream.decompress(chunk))
    except zlib.error as ex:
        raise damaged from ex
    header, _, content = b"".join(parts).partition(b"\0")
    kind = TYPES.get(header.partition(b" ")[0])
    if not stream.eof or stream.unused_data or kind is None or header.partition(b" ")[2] != b"%d" % len(content):
        raise damaged
    if hash_object(kind, content) != object_id:
        raise damaged
    return kind, content


@contextmanager
def open_objects(repository: Path) -> Iterator[StoredObjects]:
    """Open all objects of a repository. Raises Broken for alternates that cannot be followed."""
    with ExitStack() as stack:
        objects = StoredObjects(repository)
        stack.callback(objects.close)
        yield objects
