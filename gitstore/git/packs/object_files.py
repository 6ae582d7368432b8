"""The files of a repository's objects, loose and packed: listed, counted, read and removed."""

import os
import re
import struct
import time
import zlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from traceback import clear_frames

from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.objects import RawObjectID
from dulwich.pack import Pack, PackFileDisappeared

from gitstore.git.atomic_io import TEMPORARY_PREFIX, replace_file
from gitstore.git.object_reader import DAMAGE_ERRORS
from gitstore.git.packs.new_pack import TYPES, DamagedObject

_FOLDERS = 256
_LOOSE = re.compile(r"[0-9a-f]{38}")
_PACK = re.compile(r"pack-[0-9a-f]{40}")
# Files of a pack that only speed up its reads. Any other file beside a pack, such as `.keep`, protects it:
# https://git-scm.com/docs/gitrepository-layout#Documentation/gitrepository-layout.txt-objectspack
_CACHES = frozenset({".pack", ".idx", ".rev", ".bitmap"})
_CRUFT = ".mtimes"
_REMOVAL = "pack/waypost-removal"
# Unfinished files of C git and of this program: https://github.com/git/git/blob/master/builtin/prune.c
_UNFINISHED = re.compile(r"tmp_|\.tmp-")
_UNFINISHED_SECONDS = 86_400.0
_FAN_OUT = 8 + 4 * 255  # of version 2, where the last entry is the number of objects
_INDEX_MAGIC = b"\377tOc"


@dataclass(frozen=True, slots=True)
class PackFile:
    """One pack: its name without a suffix, its number of objects and bytes, and the time of its last change."""

    name: str
    count: int
    size: int
    changed_at: float
    is_cruft: bool


@dataclass
class ObjectFiles:
    """The object files of one repository, open: they stay these files if the repository is moved meanwhile."""

    path: Path
    handle: int
    _packs: dict[str, Pack] = field(default_factory=dict)

    @property
    def packs(self) -> Path:
        """The folder of the packs."""
        return self.path / "pack"

    def list_loose(self) -> Iterator[tuple[bytes, float]]:
        """Yield the id of each object that has a file of its own, and the time of its last use."""
        yield from list_loose(self.path)

    def list_packs(self) -> list[PackFile]:
        """List the packs that may be replaced, those with the fewest objects first."""
        suffixes: dict[str, set[str]] = {}
        for file in self.packs.iterdir():
            suffixes.setdefault(file.name.partition(".")[0], set()).add(file.suffix)
        names = (name for name, found in suffixes.items() if _PACK.fullmatch(name) and {".pack", ".idx"} <= found)
        known = (name for name in names if suffixes[name] <= _CACHES | {_CRUFT})
        found_packs = (_describe(self.packs / name, is_cruft=_CRUFT in suffixes[name]) for name in known)
        return sorted((pack for pack in found_packs if pack), key=lambda pack: (pack.count, pack.name))

    def has_pack(self, name: str) -> bool:
        """Tell whether readers find a pack."""
        return bool(name) and all((self.packs / f"{name}{suffix}").exists() for suffix in (".idx", ".pack"))

    def ids(self, pack: PackFile) -> Iterator[bytes]:
        """Yield the ids of a pack's objects. Raises DamagedObject if the index cannot be read."""
        with _translate_damage(pack.name):
            yield from (bytes(entry[0]) for entry in self._open(pack.name).index.iterentries())

    def read_loose(self, object_id: bytes) -> tuple[int, bytes]:
        """Read an object from its own file: its type and content. Raises DamagedObject, or FileNotFoundError."""
        name = object_id.hex()
        with _translate_damage(f"object {name}"):
            data = zlib.decompress((self.path / name[:2] / name[2:]).read_bytes())
            header, _, content = data.partition(b"\0")
            return TYPES[header.partition(b" ")[0]], content

    def loose_time(self, object_id: bytes) -> float | None:
        """Return the time of the last use of a loose object; None if it has no file."""
        name = object_id.hex()
        try:
            return os.stat(f"{name[:2]}/{name[2:]}", dir_fd=self.handle).st_mtime
        except FileNotFoundError:
            return None

    def read_packed(self, pack: PackFile, object_id: bytes) -> tuple[int, bytes]:
        """Read an object from a pack. Raises DamagedObject."""
        with _translate_damage(f"object {object_id.hex()}"):
            kind, chunks = self._open(pack.name).get_raw(RawObjectID(object_id))
            return kind, chunks

    def _open(self, name: str) -> Pack:
        if name not in self._packs:
            self._packs[name] = Pack(str(self.packs / name), object_format=DEFAULT_OBJECT_FORMAT)
        return self._packs[name]

    def close_packs(self) -> None:
        """Close all packs that were read."""
        while self._packs:
            self._packs.popitem()[1].close()

    def remove_loose(self, object_ids: Iterable[bytes]) -> None:
        """Remove the files of objects; those that another process removed are skipped."""
        for object_id in object_ids:
            name = object_id.hex()
            self._unlink(f"{name[:2]}/{name[2:]}")

    def remove_packs(self, names: Collection[str]) -> None:
        """Remove packs; readers that have them open go on, and all others find their objects elsewhere."""
        self.note_removal(names)
        if names:
            self._unlink("pack/multi-pack-index")  # it may name them, and is a cache
        for name in names:
            self.hide_pack(name)
            self._remove_rest(name)
        self.note_removal(())

    def note_removal(self, names: Collection[str]) -> None:
        """Note the packs that are about to be hidden and removed: a kill in between leaves files without an index.

        A pack without an index may also be all that a power cut has left of one by C git: that one has to stay.
        """
        if names:
            replace_file(self.path / _REMOVAL, "\n".join(names).encode(), sync=False)
        else:
            self._unlink(_REMOVAL)

    def hide_pack(self, name: str) -> None:
        """Make a pack invisible by one step that takes no time; `remove_packs` then frees its space."""
        self._unlink(f"pack/{name}.idx")

    def remove_leftovers(self) -> None:
        """Remove what a killed process left: packs that it was removing, and unfinished files that are a day old or ours."""
        with suppress(FileNotFoundError):
            noted = (self.path / _REMOVAL).read_text("ascii", errors="replace").split()
            for name in filter(_PACK.fullmatch, noted):
                if not (self.packs / f"{name}.idx").exists():
                    self._remove_rest(name)
            self._unlink(_REMOVAL)
        oldest = time.time() - _UNFINISHED_SECONDS
        for name in self._list_unfinished(oldest):
            self._unlink(name)

    def _list_unfinished(self, oldest: float) -> Iterator[str]:
        for name in self._list_names("pack"):
            base = name.partition(".")[0]
            is_lost = _PACK.fullmatch(base) and not (self.packs / f"{base}.pack").exists()
            if name.startswith(TEMPORARY_PREFIX) or (
                (is_lost or _UNFINISHED.match(name)) and self._time(f"pack/{name}") < oldest
            ):  # no other process writes it while the caller holds the packing
                yield f"pack/{name}"
        for folder in (f"{number:02x}" for number in range(_FOLDERS)):
            names = (f"{folder}/{name}" for name in self._list_names(folder) if _UNFINISHED.match(name))
            yield from (name for name in names if self._time(name) < oldest)

    def _list_names(self, folder: str) -> list[str]:
        try:
            return [file.name for file in (self.path / folder).iterdir()]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _time(self, name: str) -> float:
        """Return the time of a file's last change; now if it is gone."""
        try:
            return os.stat(name, dir_fd=self.handle).st_mtime
        except FileNotFoundError:
            return time.time()

    def _remove_rest(self, name: str) -> None:
        for suffix in (".rev", ".bitmap", ".pack", _CRUFT):
            self._unlink(f"pack/{name}{suffix}")

    def _unlink(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.handle)


@contextmanager
def open_object_files(repository: Path) -> Iterator[ObjectFiles]:
    """Open the object files of a repository."""
    path = repository / "objects"
    (path / "pack").mkdir(exist_ok=True)  # copies of a repository may lack empty folders; C git works without, too
    with ExitStack() as stack:
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, handle)
        files = ObjectFiles(path, handle)
        stack.callback(files.close_packs)
        yield files


def count_packs(repository: Path) -> int:
    """Return the number of packs that may be merged."""
    try:
        names = os.listdir(repository / "objects/pack")  # noqa: PTH208 - asked every two seconds
    except (FileNotFoundError, NotADirectoryError):
        return 0
    protected = {name.partition(".")[0] for name in names if name.endswith((".keep", _CRUFT))}
    return sum(name.endswith(".idx") and name.partition(".")[0] not in protected for name in names)


def sample_loose(repository: Path, folders: Collection[int]) -> list[float]:
    """Return the times of the loose objects in some of the 256 folders, a fair sample since names are hashes."""
    objects = f"{repository}/objects"
    try:
        existing = frozenset(os.listdir(objects))  # noqa: PTH208 - asked every few seconds; few repositories have all folders
    except (FileNotFoundError, NotADirectoryError):
        return []
    names = existing.intersection(f"{number:02x}" for number in folders)
    return [at for name in names for _, at in _list_folder(objects, name)]


def list_loose(objects: Path) -> Iterator[tuple[bytes, float]]:
    """Yield the id of each object in a folder of objects that has a file of its own, and the time of its last use."""
    for number in range(_FOLDERS):
        yield from _list_folder(str(objects), f"{number:02x}")


def _list_folder(objects: str, folder: str) -> Iterator[tuple[bytes, float]]:
    try:
        with os.scandir(f"{objects}/{folder}") as entries:
            for entry in entries:
                if _LOOSE.fullmatch(entry.name):
                    with suppress(FileNotFoundError):
                        yield bytes.fromhex(folder + entry.name), entry.stat().st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return


def _describe(base: Path, *, is_cruft: bool) -> PackFile | None:
    """Describe a pack; None for a pack that is gone or damaged."""
    try:
        status = base.with_suffix(".pack").stat()
        with base.with_suffix(".idx").open("rb") as file:
            head = file.read(_FAN_OUT + 4)
    except FileNotFoundError:
        return None
    if head[:4] != _INDEX_MAGIC or len(head) < _FAN_OUT + 4:
        return None
    (count,) = struct.unpack_from(">I", head, _FAN_OUT)
    return PackFile(base.name, count, status.st_size, status.st_mtime, is_cruft)


@contextmanager
def _translate_damage(what: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise
    except PackFileDisappeared as ex:  # another program packs at the same time
        clear_frames(ex.__traceback__)
        raise FileNotFoundError(what) from ex
    except DAMAGE_ERRORS as ex:
        clear_frames(ex.__traceback__)  # they hold views of mapped packs, which could not be closed
        raise DamagedObject(what) from ex
