"""Kept packs: those of whole clones, in a folder that is a cache. The next clone of the same refs is sent from it.

When refs have moved on, the pack of their former state begins the new one. Beside each pack is a list of its objects.
"""

import mmap
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, NamedTuple

from gitstore.directory import make_folder
from gitstore.file_lock import hold_lock_file
from gitstore.wire.packs.id_lists import SUFFIX, Contents, read_list, write_list

MOST_KEPT = 4
MOST_BYTES = 4 << 30
MOST_SECONDS = 7 * 86_400.0
_UNUSED_SECONDS = 3600.0  # of a file that its reader should have removed at once
_LOCK = "lock"
_LOCK_SECONDS = 120.0
_PACK, _LOOSE = ".pack", ".tmp"
_KEY = re.compile(r"[0-9a-f]{40}")
_MOST_ADDED = 3  # a pack is replaced when a third of it was added to its first form


def key_of(contents: Contents) -> str:
    """Return the name of a pack's files."""
    return sha256(b"\n".join([contents.form.encode(), *sorted(contents.roots)])).hexdigest()[:40]


class KeptPack(NamedTuple):
    """A pack in the folder, with what it was made of and its objects."""

    path: Path
    contents: Contents
    ids: Collection[bytes]


class KeptPacks:
    """The folder of kept packs of one namespace; it is created when it is needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create_folder(self) -> None:
        """Create the folder."""
        make_folder(self.folder, levels=2)

    @contextmanager
    def making(self) -> Iterator[None]:
        """Hold the folder's lock, so that clones at the same time wait for one pack; for a while only."""
        with hold_lock_file(self.folder / _LOCK, wait=_LOCK_SECONDS):
            yield

    def find(self, key: str) -> Path | None:
        """Return the pack of a key, and note its use; None if there is none."""
        path = self.folder / f"{key}{_PACK}"
        try:
            os.utime(self.folder / f"{key}{SUFFIX}")
            os.utime(path)
        except OSError:
            return None
        return path

    def list_similar(self, form: str) -> Iterator[KeptPack]:
        """Yield the packs of a form, those that were used last first."""
        for path in _by_use(self.folder, SUFFIX):
            with suppress(OSError, ValueError):
                contents, ids = read_list(path)
                if contents.form == form and (pack := path.with_suffix(_PACK)).is_file():
                    yield KeptPack(pack, contents, ids)

    def temporary(self) -> Path:
        """Return the path for a file without a name yet, which is removed after an hour."""
        return self.folder / f"{token_hex(12)}{_LOOSE}"

    def drop(self, path: Path) -> None:
        """Remove a pack, such as a damaged one."""
        path.with_suffix(SUFFIX).unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    def keep(self, written: Path, contents: Contents, ids: Iterable[bytes]) -> Path:
        """Give a written pack its name, with the list of its objects; remove what is kept beyond the limits."""
        path = self.folder / f"{key_of(contents)}{_PACK}"
        written.replace(path)
        write_list(path.with_suffix(SUFFIX), contents, ids)
        remove_old(self.folder, spared=path)
        return path


def may_grow(kept: KeptPack, added: int) -> bool:
    """Tell whether a pack may begin another one with so many more objects: they are not as small as those of a whole pack."""
    return (kept.contents.added + added) * _MOST_ADDED <= len(kept.ids)


def remove_old(folder: Path, spared: Path | None = None, now: float | None = None) -> None:
    """Remove packs that are too old, too many or too large together, and files that a killed process left."""
    now, count, size = time.time() if now is None else now, 0, 0
    for path in _by_use(folder, _PACK):
        with suppress(OSError):
            status = path.stat()
            count, size = count + 1, size + status.st_size
            is_over = count > MOST_KEPT or size > MOST_BYTES or now - status.st_mtime > MOST_SECONDS
            if is_over and path != spared:
                KeptPacks(folder).drop(path)
    for path in [*_by_use(folder, _LOOSE), *_by_use(folder, SUFFIX)]:
        with suppress(OSError):
            is_alone = _KEY.fullmatch(path.stem) is not None and not path.with_suffix(_PACK).exists()
            is_lost = path.suffix == _LOOSE or is_alone
            if is_lost and now - path.stat().st_mtime > _UNUSED_SECONDS:
                path.unlink()


def _by_use(folder: Path, suffix: str) -> list[Path]:
    """Return the files of a folder with a suffix, those that were used last first."""
    times: dict[Path, float] = {}
    with suppress(FileNotFoundError):
        for path in folder.iterdir():
            with suppress(OSError):
                if path.suffix == suffix:
                    times[path] = path.stat().st_mtime
    return sorted(times, key=lambda path: -times[path])


@contextmanager
def mapped(file: BinaryIO) -> Iterator[memoryview]:
    """Give the bytes of a file, mapped into memory."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data, memoryview(data) as view:
        yield view
