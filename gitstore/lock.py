"""The one lock that every writer of a repository holds, and the sweep of locks that a crash left behind.

The kernel releases a `flock` when its holder dies, so it can never go stale. What can is dulwich's `<ref>.lock`:
the holder notes in the lock file which of them it is about to take, having seen that they are free, and whoever
comes next and finds such a note knows that the holder died there, and that those locks are nobody's.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitstore.errors import Busy, NotFound

FILE_NAME = "waypost.lock"
FOREIGN_LOCK_AGE = 10.0
"""Seconds after which a `.lock` that is not ours counts as left by a dead git process."""
PACKED_REFS = "packed-refs"
_WAIT_SECONDS = 30.0
_POLL_SECONDS = 0.002


class RepositoryLock:
    """Held by `hold`; notes the locks of Git's own that are taken while a ref is being moved."""

    def __init__(self, repository: Path, handle: int) -> None:
        self._repository = repository
        self._handle = handle

    def is_free(self, *names: str) -> bool:
        """Tell whether nobody holds the locks of these; asked before `moving`, whose note claims them as ours."""
        return not any((self._repository / f"{name}.lock").exists() for name in names)

    @contextmanager
    def moving(self, *names: str) -> Iterator[None]:
        """Note that the locks of these are being taken; the note stays if this process dies inside."""
        os.pwrite(self._handle, "\n".join(names).encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(self._handle, 0)

    def sweep(self, *names: str) -> None:
        """Remove the locks of these that a dead process left; those of a living git are left alone."""
        for name in names:
            _remove_if_old(self._repository / f"{name}.lock")

    def _sweep_noted(self) -> None:
        noted = os.pread(self._handle, 4096, 0).decode(errors="replace")
        if noted:
            for name in noted.split("\n"):
                (self._repository / f"{name}.lock").unlink(missing_ok=True)
            os.ftruncate(self._handle, 0)


@contextmanager
def hold(repository: Path, wait: float = _WAIT_SECONDS) -> Iterator[RepositoryLock]:
    """Hold the repository's lock; Busy after `wait` seconds, NotFound where there is no repository.

    Not re-entrant: code that runs under it must not take it again.
    """
    handle = _open(repository)
    try:
        _acquire(handle, repository, wait)
        lock = RepositoryLock(repository, handle)
        lock._sweep_noted()  # noqa: SLF001 - the one caller, in the module that owns both
        yield lock
    finally:
        os.close(handle)


def acquire(handle: int, wait: float) -> bool:
    """Take an exclusive `flock` on an open file within `wait` seconds; false where somebody else kept it."""
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        else:
            return True


def _open(repository: Path) -> int:
    try:
        return os.open(repository / FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except FileNotFoundError as ex:
        raise NotFound(f"There is no namespace {repository.stem!r}.") from ex


def _acquire(handle: int, repository: Path, wait: float) -> None:
    if not acquire(handle, wait):
        raise Busy("Another writer holds this namespace. Try again in a moment.")
    if not _is_the_file(handle, repository / FILE_NAME):
        raise NotFound(f"The namespace {repository.stem!r} was deleted meanwhile.")


def _remove_if_old(path: Path) -> None:
    try:
        age = time.time() - path.stat().st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return
    if age > FOREIGN_LOCK_AGE:
        path.unlink(missing_ok=True)


def _is_the_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
