"""The files of a backup: a folder, or one tar archive. Each file has its size and SHA-256 in `backup.json`, which comes last.

A backup is written under another name, synced, and gets its own name when it is complete.
"""

import os
import secrets
import shutil
import tarfile
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

import orjson

from gitstore.care.streams import CheckedReader, CountedWriter
from gitstore.errors import AlreadyExists, BadRequest, Broken
from gitstore.git.atomic_io import sync_directory, translate_os_error

CONTENTS = "backup.json"
FORMAT = 1
ARCHIVE_SUFFIX = ".tar"
_CHUNK = 1 << 20
_UNFINISHED = ".unfinished-"


class StoredFile(NamedTuple):
    """The size of a file of a backup, and its SHA-256 in hex digits."""

    size: int
    sha256: str


class BackupWriter(ABC):
    """A backup that is being written; `files` are its files so far."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.files: dict[str, StoredFile] = {}
        self.staged = target.parent / f".{target.name}{_UNFINISHED}{secrets.token_hex(4)}"

    @contextmanager
    def file(self, name: str) -> Iterator[CountedWriter]:
        """Write a file; it counts when the block ends without an exception."""
        with self._open(name) as file:
            counted = CountedWriter(file)
            yield counted
        self.files[name] = StoredFile(counted.size, counted.digest.hexdigest())

    def copy(self, name: str, path: Path) -> None:
        """Write a file as a copy of another one."""
        with path.open("rb") as source, self.file(name) as target:
            shutil.copyfileobj(source, target, _CHUNK)

    def forget(self, folder: str) -> None:
        """Drop the files below a folder: its namespace moved, or could not be saved. An archive keeps their bytes unlisted."""
        self.files = {name: file for name, file in self.files.items() if not name.startswith(f"{folder}/")}

    def finish(self, facts: Mapping[str, object]) -> None:
        """Write the list of all files with further facts, make the backup durable, and give it its name."""
        files = {name: {"size": each.size, "sha256": each.sha256} for name, each in self.files.items()}
        data = orjson.dumps({"format": FORMAT, **facts, "files": files}, option=orjson.OPT_INDENT_2)
        with self._open(CONTENTS) as file:
            file.write(data)
        self._sync()
        self.staged.rename(self.target)
        sync_directory(self.target.parent)

    @abstractmethod
    def discard(self) -> None:
        """Remove what was written."""

    @abstractmethod
    def _open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open one file to write."""

    @abstractmethod
    def _sync(self) -> None:
        """Make all that was written durable."""


class FolderWriter(BackupWriter):
    """A backup as a folder, for its owner only."""

    def __init__(self, target: Path) -> None:
        super().__init__(target)
        self.staged.mkdir(mode=0o700)

    def forget(self, folder: str) -> None:
        """Remove the files below a folder."""
        super().forget(folder)
        shutil.rmtree(self.staged / folder, ignore_errors=True)

    def discard(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.staged, ignore_errors=True)

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        path = self.staged / name
        for folder in reversed(path.relative_to(self.staged).parents):
            (self.staged / folder).mkdir(mode=0o700, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink()
            raise

    def _sync(self) -> None:
        for folder, _, _ in os.walk(self.staged):
            sync_directory(Path(folder))


class ArchiveWriter(BackupWriter):
    """A backup as a tar archive, for its owner only; each file is on the disk twice until it is in the archive."""

    def __init__(self, target: Path) -> None:
        super().__init__(target)
        handle = os.open(self.staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._file = os.fdopen(handle, "wb")
        self._archive = tarfile.TarFile(fileobj=self._file, mode="w", format=tarfile.PAX_FORMAT)

    def discard(self) -> None:
        """Remove the archive."""
        self._file.close()
        self.staged.unlink(missing_ok=True)

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        with tempfile.TemporaryFile(dir=self.target.parent) as file:
            yield file
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = file.tell(), 0o600, int(time.time())
            file.seek(0)
            self._archive.addfile(info, file)

    def _sync(self) -> None:
        self._archive.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


@contextmanager
def open_new_backup(target: Path) -> Iterator[BackupWriter]:
    """Write a backup: an archive if its name ends with `.tar`, otherwise a folder. An exception leaves nothing.

    Raises AlreadyExists where something has the name, BadRequest without a folder to put it in, OutOfSpace.
    """
    target = target.absolute()
    if target.exists() or target.is_symlink():
        raise AlreadyExists(f"{target} exists already. Name a new backup: one never replaces another.")
    if not target.parent.is_dir():
        raise BadRequest(f"There is no folder {target.parent}. Create it, then retry.")
    try:
        writer = ArchiveWriter(target) if target.suffix == ARCHIVE_SUFFIX else FolderWriter(target)
        try:
            yield writer
        finally:
            if not target.exists():
                writer.discard()
    except OSError as ex:
        raise translate_os_error(ex) from ex


class BackupReader(ABC):
    """A complete backup; raises Broken for one that is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.facts = self._read_contents()

    def names(self, folder: str = "") -> list[str]:
        """Return the names of the files below a folder of the backup."""
        return [name for name in self.facts["files"] if name.startswith(folder)]

    def has(self, name: str) -> bool:
        """Tell whether the backup has a file."""
        return name in self.facts["files"]

    @contextmanager
    def file(self, name: str) -> Iterator[CheckedReader]:
        """Read a file, which is checked at the end of the block: raises Broken for other bytes than were written."""
        stored = self.facts["files"][name]
        with self._open(name) as file:
            checked = CheckedReader(file)
            yield checked
            while checked.read(_CHUNK):
                pass
        if checked.size != stored["size"] or checked.digest.hexdigest() != stored["sha256"]:
            raise Broken(f"The file {name} of the backup {self.path} is damaged. Use another backup.")

    def read(self, name: str) -> bytes:
        """Read a small file."""
        with self.file(name) as file:
            return file.read()

    def copy(self, name: str, path: Path, mode: int = 0o600) -> None:
        """Copy a file of the backup to a new path, durably."""
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(handle, "wb") as target, self.file(name) as source:
            shutil.copyfileobj(source, target, _CHUNK)
            target.flush()
            os.fsync(target.fileno())

    def _read_contents(self) -> dict[str, Any]:
        try:
            with self._open(CONTENTS) as file:
                found: dict[str, Any] = orjson.loads(file.read())
            files = found["files"]
            is_valid = found["format"] == FORMAT and all(_is_inside(name) for name in files)
        except (OSError, KeyError, TypeError, ValueError, tarfile.TarError) as ex:
            raise Broken(f"{self.path} is no complete backup: {CONTENTS} is missing or damaged.") from ex
        if not is_valid:
            raise Broken(f"The backup {self.path} is of another version of Waypost. Restore it with that version.")
        return found

    @abstractmethod
    def _open(self, name: str) -> AbstractContextManager[IO[bytes]]:
        """Open one file to read."""


class FolderReader(BackupReader):
    """A backup in a folder."""

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        with (self.path / name).open("rb") as file:
            yield file


class ArchiveReader(BackupReader):
    """A backup in a tar archive."""

    @cached_property
    def _members(self) -> Mapping[str, tarfile.TarInfo]:
        """The heads of all files, which are read once."""
        with tarfile.open(self.path, "r:") as archive:
            return {member.name: member for member in archive}

    @contextmanager
    def _open(self, name: str) -> Iterator[IO[bytes]]:
        with tarfile.open(self.path, "r:") as archive:
            found = archive.extractfile(self._members[name])
            if found is None:
                raise KeyError(name)
            with found:
                yield found


def open_backup(path: Path) -> BackupReader:
    """Open a backup. Raises BadRequest where there is none, Broken for one that is not complete."""
    if not path.exists():
        raise BadRequest(f"There is no backup {path}.")
    return FolderReader(path) if path.is_dir() else ArchiveReader(path)


def _is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and str(path) == name
