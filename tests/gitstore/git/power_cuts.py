"""A disk that loses its power: the rest of a folder, if the disk kept nothing but what was synced.

A file has the bytes of its last sync, and a folder the names of its last sync; what was not synced since the start is as it
was then. No real file system is so forgetful.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch


@dataclass
class Disk:
    """The durable part of a folder, by inode: the bytes of each file, and the names in each folder."""

    top: Path
    files: dict[int, bytes] = field(default_factory=dict)
    folders: dict[int, dict[str, int]] = field(default_factory=dict)

    def keep(self, path: Path) -> None:
        """Make a file or folder durable."""
        if path.is_dir():
            self.folders[path.stat().st_ino] = {each.name: each.lstat().st_ino for each in path.iterdir()}
        else:
            self.files[path.stat().st_ino] = path.read_bytes()

    def cut(self, target: Path) -> None:
        """Write what is left of the folder to a new one."""
        self._write(self.top.stat().st_ino, target)

    def _write(self, inode: int, target: Path) -> None:
        if inode in self.folders:
            target.mkdir()
            for name, inner in self.folders[inode].items():
                self._write(inner, target / name)
        else:
            target.write_bytes(self.files.get(inode, b""))


@contextmanager
def recorded(top: Path) -> Iterator[Disk]:
    """Record what this process syncs below a folder; the rest is durable as it is now."""
    disk = Disk(top)
    for path in (top, *top.rglob("*")):
        disk.keep(path)
    real = {"fsync": os.fsync, "fdatasync": os.fdatasync}

    def sync(name: str, handle: int) -> None:
        real[name](handle)
        path = Path(f"/proc/self/fd/{handle}").readlink()
        if path.is_relative_to(top):
            disk.keep(path)

    with (
        patch.object(os, "fsync", lambda handle: sync("fsync", handle)),
        patch.object(os, "fdatasync", lambda handle: sync("fdatasync", handle)),
    ):
        yield disk


def start_again(repository: Path) -> None:
    """Let a repository's log be of an earlier start of the machine."""
    for log in repository.glob("waypost-objects*"):
        title, _, records = log.read_bytes().partition(b"\n")
        log.write_bytes(title[:-12] + b"f" * 12 + b"\n" + records)


def replace_folder(folder: Path, other: Path) -> None:
    """Put another folder in the place of a folder."""
    shutil.rmtree(folder)
    other.rename(folder)
