"""The data directory of a preview: a temporary folder, removed at the end; what a killed preview left, the next one removes."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from cli.console.exits import CommandFailed, InvalidUsage
from gitstore.file_lock import acquire

PREFIX = "waypost-preview-"
_LOCK = "running.lock"
_NEW_LOCK = "new.lock"
_TRIES = 5  # of a removal, while the last processes end


class TemporaryData(NamedTuple):
    """The folder of a running preview, and the open lock that marks it as in use."""

    folder: Path
    lock: int

    @property
    def data(self) -> Path:
        """The data directory of the service."""
        return self.folder / "data"


@contextmanager
def make_temporary_data(beside: Path) -> Iterator[TemporaryData]:
    """Create the folder, and remove it at the end; raises InvalidUsage where it would be in the folder `beside`."""
    parent = Path(tempfile.gettempdir()).resolve()
    if parent.is_relative_to(beside):
        raise InvalidUsage(
            f"Temporary files would be in {parent}, which is in the previewed folder. Set TMPDIR to a folder outside it."
        )
    _remove_left(parent)
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        lock = _create_lock(folder)
    except OSError as ex:
        raise CommandFailed(f"No temporary folder can be created in {parent}: {ex.strerror}. Set TMPDIR.") from ex
    try:
        yield TemporaryData(folder, lock)
    finally:
        _remove(folder)
        os.close(lock)


def _create_lock(folder: Path) -> int:
    """Create the lock, already held when it gets its name: another start removes a folder whose lock is free."""
    lock = os.open(folder / _NEW_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    acquire(lock, 0)
    (folder / _NEW_LOCK).rename(folder / _LOCK)
    return lock


def _remove_left(parent: Path) -> None:
    """Remove the folders of previews that were killed: theirs have a lock that no process holds."""
    for folder in parent.glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(handle)


def _remove(folder: Path) -> None:
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
