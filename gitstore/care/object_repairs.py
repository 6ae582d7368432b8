"""Repairs of objects: an intact copy from another place is written again, and a damaged pack is written without its losses."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from gitstore.care.bundle import index_new_pack
from gitstore.care.findings import RemovedFiles
from gitstore.errors import Broken
from gitstore.git.atomic_io import sync_directory
from gitstore.git.lock import hold
from gitstore.git.object_log import FILE_NAME, OLD_NAME, object_path, read_log, write_object_file
from gitstore.git.packs.new_pack import DamagedObject, dump_object, write_pack
from gitstore.git.packs.stored_objects import StoredObjects, open_objects
from gitstore.git.packs.stored_pack import Content, PackEntries, StoredPack, scan_pack, scan_readable

_PARTS = (".idx", ".pack", ".rev", ".bitmap", ".mtimes")


class ObjectRepairs:
    """The repairs of one repository's objects."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        self._logged: dict[str, tuple[str, bytes]] | None = None

    def find_copy(self, objects: StoredObjects, object_id: bytes) -> str:
        """Name the place that has an intact copy of an object; empty if there is none."""
        if objects.find_any(object_id) is not None:
            return "another file of the repository"
        return self._log().get(object_id.hex(), ("", b""))[0]

    def restore(self, object_id: bytes, removed: RemovedFiles) -> str:
        """Write an object's own file again, durably, from another pack or from the log of new objects."""
        name = object_id.hex()
        path = object_path(self._repository / "objects", name)
        with open_objects(self._repository) as objects, hold(self._repository):
            found = objects.find_any(object_id)
            data = dump_object(*found) if found else self._log().get(name, ("", b""))[1]
            if not data:
                raise Broken(f"No intact copy of object {name} is left.")
            if path.exists():
                removed.move(path)
            write_object_file(path, data)
            _sync(path)
        return f"Wrote object {name} again from an intact copy."

    def remove_loose(self, object_id: bytes, path: Path, removed: RemovedFiles) -> str:
        """Take the damaged file of an object away."""
        with hold(self._repository):
            target = removed.move(path)
        return f"Moved the damaged file of object {object_id.hex()} to {target}."

    def rebuild(self, path: Path, removed: RemovedFiles) -> str:
        """Build the index of a pack again; where the pack is damaged, write what can be read of it as a new one."""
        if not path.exists() and not path.with_suffix(".idx").exists():
            return "Replaced the pack, with the other findings in it."
        try:
            entries = PackEntries(path)
            try:
                entries.check()
                scan_pack(entries)
            finally:
                entries.close()
        except (DamagedObject, FileNotFoundError):
            return self._rescue(path, removed)
        with hold(self._repository):
            copy = path.with_name(f"tmp_pack_{token_hex(8)}")
            os.link(path, copy)
            for suffix in (".idx", ".rev", ".bitmap"):
                _move_if_there(path.with_suffix(suffix), removed)
            if index_new_pack(copy) != path:  # C git once named packs in another way
                removed.move(path)
            _move_if_there(path.with_name("multi-pack-index"), removed)
        return f"Built the index of {path.name} again."

    def _rescue(self, path: Path, removed: RemovedFiles) -> str:
        """Write the objects of a damaged pack that can be read as a new pack, before the damaged one is moved away."""
        found = _Readable(path)
        try:
            ids = list(found.ids())
            if ids:
                write_pack(path.parent, [[object_id] for object_id in ids], found.read)
        finally:
            found.close()
        with hold(self._repository):
            for suffix in _PARTS:
                _move_if_there(path.with_suffix(suffix), removed)
            _move_if_there(path.with_name("multi-pack-index"), removed)
        return f"Wrote the {len(ids)} readable objects of {path.name} as a new pack, and moved the damaged one to {removed.folder}."

    def _log(self) -> dict[str, tuple[str, bytes]]:
        """Return the objects in the log of new objects; it has at most some megabytes."""
        if self._logged is None:
            self._logged = {}
            for name in (OLD_NAME, FILE_NAME):
                self._logged |= {
                    object_id: (f"the log {name}", data) for object_id, data in read_log(self._repository / name)
                }
        return self._logged


class _Readable:
    """The objects of a damaged pack that can be read: by its index, or from its beginning where that is damaged too."""

    def __init__(self, path: Path) -> None:
        self._pack: StoredPack | None = None
        self._found: dict[bytes, int] = {}
        self._entries: PackEntries | None = None
        with suppress(DamagedObject, FileNotFoundError):
            self._pack = StoredPack(path.with_suffix(""))
        if self._pack is None:
            with suppress(DamagedObject, FileNotFoundError):
                self._entries = PackEntries(path)
                self._found = {each.id: each.offset for each in scan_readable(self._entries)}

    def ids(self) -> Iterator[bytes]:
        """Yield the ids of the objects that can be read."""
        yield from self._found
        if self._pack:
            for place in range(self._pack.index.count):
                with suppress(DamagedObject):
                    self._pack.read(place)
                    yield self._pack.index.id_at(place)

    def read(self, object_id: bytes) -> Content:
        """Read one of them."""
        if self._pack:
            place = self._pack.index.find(object_id)
            if place is None:
                raise DamagedObject(f"object {object_id.hex()}")
            return self._pack.read(place)
        if self._entries is None:
            raise DamagedObject(f"object {object_id.hex()}")
        return self._entries.read_at(self._found[object_id], self._found.get)

    def close(self) -> None:
        """Close the files."""
        for each in (self._pack, self._entries):
            if each:
                each.close()


def _move_if_there(path: Path, removed: RemovedFiles) -> None:
    if path.exists():
        removed.move(path)


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
    sync_directory(path.parent)
    sync_directory(path.parent.parent)
