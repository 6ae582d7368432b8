"""The objects of a repository for packs that are sent: read quickly, and copied as they are stored where that is possible.

Reads go to the packs directly; what is in none of them is read as by every other reader of the repository.
"""

from contextlib import suppress
from pathlib import Path

from gitstore.git.alternates import borrows
from gitstore.git.packs.new_pack import DamagedObject
from gitstore.git.packs.stored_pack import Content, StoredPack
from gitstore.git.repository import Repository

_CACHED_BYTES = 64 << 20  # of the contents of each pack

Place = tuple[StoredPack, int]
"""A pack, and an offset in it."""


class ObjectSource:
    """The objects of an open repository; `packs` are its packs, the one with the most objects first."""

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._objects = repository.path / "objects"
        self._loose: dict[str, frozenset[str]] = {}  # the names in each folder of objects with a file of their own
        self._borrows = borrows(repository.path)
        self.packs = _open_packs(self._objects / "pack")
        self._offsets: list[tuple[StoredPack, dict[bytes, int]]] = []

    def close(self) -> None:
        """Close the packs."""
        for pack in self.packs:
            pack.close()

    def index_all(self) -> None:
        """Read the indexes whole: for many look-ups."""
        if not self._offsets:
            self._offsets = [
                (pack, dict(zip(pack.index.ids(), pack.index.offsets(), strict=True))) for pack in self.packs
            ]

    def place(self, object_id: bytes) -> Place | None:
        """Return the place of an object in a pack; None if it is in none."""
        if self._offsets:
            for pack, offsets in self._offsets:
                if object_id in offsets:
                    return pack, offsets[object_id]
            return None
        for pack in self.packs:
            if (at := pack.index.locate(object_id)) is not None:
                return pack, at
        return None

    def has(self, object_id: bytes) -> bool:
        """Tell whether an object exists."""
        return self.place(object_id) is not None or self.repository.has(object_id.hex())

    def is_here(self, object_id: bytes) -> bool:
        """Tell whether an object exists, for very many look-ups: one that is just being written or packed may be missed."""
        if self.place(object_id) is not None:
            return True
        name = object_id.hex()
        if name[:2] not in self._loose:
            self._loose[name[:2]] = frozenset(_list_names(self._objects / name[:2]))
        return name[2:] in self._loose[name[:2]] or (self._borrows and self.repository.has(name))

    def read(self, object_id: bytes) -> Content:
        """Read an object: the number of its kind, and its bytes. Raises Broken."""
        place = self.place(object_id)
        if place is not None:
            pack, at = place
            try:
                return pack.entries.read_at(at, pack.index.locate)
            except DamagedObject:  # another copy may be readable; else the reader says what is damaged
                pass
        return self.repository.raw(object_id.hex())

    def read_once(self, object_id: bytes) -> Content:
        """Read an object that is not needed again, such as a commit: it takes no place in memory if it is no delta."""
        place = self.place(object_id)
        found = place[0].entries.read_whole(place[1]) if place else None
        return found or self.read(object_id)

    def kind(self, object_id: bytes) -> int:
        """Return the number of an object's kind; of a delta, that of its base. Raises Broken."""
        place = self.place(object_id)
        if place is not None:
            with suppress(DamagedObject):
                return _find_kind(*place)
        return self.read(object_id)[0]

    def size(self, object_id: bytes) -> int:
        """Return the number of an object's bytes. Raises Broken."""
        place = self.place(object_id)
        if place is not None:
            with suppress(DamagedObject):
                entry = place[0].entries.entry(place[1])
                if entry.base is None:
                    return entry.size
        return len(self.read(object_id)[1])


def _find_kind(pack: StoredPack, at: int) -> int:
    for _ in range(pack.index.count):
        entry = pack.entries.entry(at)
        if entry.base is None:
            return entry.kind
        base = pack.entries.base_offset(entry, pack.index.locate)
        if base is None:
            break
        at = base
    raise DamagedObject(f"the entry at byte {at} of {pack.name}")


def _open_packs(folder: Path) -> list[StoredPack]:
    """Open all packs that can be read; those that another process removes meanwhile are not needed any more."""
    packs = []
    for index in sorted(folder.glob("pack-*.idx")):
        with suppress(OSError, DamagedObject):
            packs.append(StoredPack(index.with_suffix(""), _CACHED_BYTES))
    return sorted(packs, key=lambda pack: -pack.index.count)


def _list_names(folder: Path) -> list[str]:
    try:
        return [path.name for path in folder.iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
