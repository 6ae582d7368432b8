"""Notes of a hook for the service, as files of a folder in the repository: the hook of a push by path or SSH has no database.

Several users of the system may write there, so no link is followed: no user may be able to have the service read or remove
files elsewhere. Notes are bounded in size and number; the service removes them once it has read them.
"""

import os
import re
import secrets
import stat
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

MOST_NOTES = 1_000  # in a folder
_MOST_BYTES = 128 << 20  # of all notes in a folder
_MODE = 0o664  # whatever the umask: who may enter the folder is decided by its own mode
_NAME = re.compile("[0-9]{20}-[0-9a-f]{16}", re.ASCII)
_UNFINISHED = "."  # before the name of a note that is being written
_DEAD_NS = 3_600 * 10**9  # after which its writer is dead


class Note(NamedTuple):
    """A note that was opened: its time by the file system, the number of the user who owns it, and its file."""

    time_ns: int
    user: int
    file: BinaryIO


class NoteFolder(NamedTuple):
    """The notes of one kind in a repository; a larger note than `most_bytes` is not written, and not read."""

    repository: Path
    name: str
    most_bytes: int

    def write(self, data: bytes) -> str:
        """Write a note; return why not, empty if it was written."""
        if len(data) > self.most_bytes:
            return "it is too large"
        try:
            with suppress(FileExistsError):
                self._create()
            with self._opened() as folder:
                if not _has_room(folder, len(data)):
                    return f"the folder {self.name} has no room for more notes"
                _write(folder, data)
        except PermissionError:
            return "this user may not write to the repository"
        except OSError as ex:
            return f"{ex.strerror or ex} ({self.name})"
        return ""

    def list(self) -> Mapping[str, int]:
        """Return the names of the notes, oldest first, each with the time of its last change."""
        with suppress(OSError), self._opened() as folder, os.scandir(folder) as entries:  # mostly there is no folder
            named = (each for each in entries if _NAME.fullmatch(each.name) and each.is_file(follow_symlinks=False))
            found = islice(named, 2 * MOST_NOTES)
            return dict(sorted((each.name, each.stat(follow_symlinks=False).st_ctime_ns) for each in found))
        return {}

    def has_room(self) -> bool:
        """Tell whether a note can be written; true where there is no folder."""
        with suppress(OSError), self._opened() as folder:
            return _has_room(folder, 1)
        return True

    def list_foreign(self) -> Sequence[str]:
        """Return the first names in the folder that no hook has made, sorted."""
        with suppress(OSError), self._opened() as folder, os.scandir(folder) as entries:
            return sorted(islice((each.name for each in entries if not _is_own(each.name)), MOST_NOTES))
        return ()

    @contextmanager
    def open(self, name: str) -> Iterator[Note | None]:
        """Open a note; None for one that is gone, is no file, is too large, or is closed to this user."""
        try:
            with self._opened() as folder:
                number = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        except OSError:
            yield None
            return
        with os.fdopen(number, "rb") as file:
            found = os.fstat(file.fileno())
            is_note = stat.S_ISREG(found.st_mode) and found.st_size <= self.most_bytes
            yield Note(found.st_ctime_ns, found.st_uid, file) if is_note else None

    def remove(self, names: Collection[str]) -> None:
        """Remove notes, and what dead processes began; those that another user keeps from it stay, and do no harm."""
        with suppress(OSError), self._opened() as folder:
            for name in [*names, *_list_dead(folder)]:
                with suppress(OSError):
                    os.unlink(name, dir_fd=folder)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Open the folder; OSError for a link in its place, or if there is none."""
        folder = os.open(self.repository / self.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            yield folder
        finally:
            os.close(folder)

    def _create(self) -> None:
        """Create the folder for those who may write to the repository, whatever the umask of this pusher is."""
        (self.repository / self.name).mkdir()
        with self._opened() as folder:
            os.fchmod(folder, stat.S_IMODE(self.repository.stat().st_mode))


def _is_own(name: str) -> bool:
    """Tell whether a name is that of a note, or of one that is being written."""
    return _NAME.fullmatch(name.removeprefix(_UNFINISHED)) is not None


def _has_room(folder: int, size: int) -> bool:
    """Tell whether a note of a size may be added; other files than notes, which anyone may leave there, do not count."""
    with os.scandir(folder) as entries:
        own = islice((each for each in entries if _is_own(each.name)), MOST_NOTES)
        sizes = [each.stat(follow_symlinks=False).st_size for each in own]
    return len(sizes) < MOST_NOTES and sum(sizes) + size <= _MOST_BYTES


def _list_dead(folder: int) -> Iterator[str]:
    """Yield the names of notes that were begun by processes that are dead."""
    with os.scandir(folder) as entries:
        begun = [each for each in entries if each.name.startswith(_UNFINISHED) and _is_own(each.name)]
    for each in begun:
        with suppress(OSError):
            if time.time_ns() - each.stat(follow_symlinks=False).st_ctime_ns > _DEAD_NS:
                yield each.name


def _write(folder: int, data: bytes) -> None:
    """Write a note under another name first, so that no reader gets a part of it."""
    name = f"{time.time_ns():020}-{secrets.token_hex(8)}"
    number = os.open(_UNFINISHED + name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, _MODE, dir_fd=folder)
    with os.fdopen(number, "wb") as file:
        os.fchmod(number, _MODE)
        file.write(data)
        file.flush()
        os.fsync(number)
    os.rename(_UNFINISHED + name, name, src_dir_fd=folder, dst_dir_fd=folder)
