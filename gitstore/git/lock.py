"""The lock that every writer of a repository holds, and the removal of locks that a crash left behind.

The kernel releases a `flock` when its holder dies, so it never goes stale. dulwich's `<ref>.lock` can. Therefore the
holder checks that those locks are free and notes in the lock file which of them it is about to take. The next writer
that finds such a note knows that the holder died there, removes those locks, and makes the folders durable.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gitstore.errors import Busy, NotFound
from gitstore.file_lock import acquire
from gitstore.git.atomic_io import sync_directory

FILE_NAME = "waypost.lock"
FOREIGN_LOCK_AGE = 10.0  # seconds; an older `.lock` of a plain git counts as left by a dead process
PACKED_REFS = "packed-refs"
WAIT_SECONDS = 30.0


class RepositoryLock:
    """The held lock of a repository, from `hold`. It notes the locks of Git's own that are taken while a ref moves."""

    def __init__(self, repository: Path, handle: int) -> None:
        self._repository = repository
        self._handle = handle

    def is_free(self, *names: str) -> bool:
        """Tell whether the locks of these files are free. Call it before `moving`, whose note claims them as ours."""
        return not any((self._repository / f"{name}.lock").exists() for name in names)

    @contextmanager
    def moving(self, *names: str) -> Iterator[None]:
        """Note that the locks of these files are being taken; the note stays if this process dies inside."""
        os.pwrite(self._handle, "\n".join(names).encode(), 0)
        try:
            yield
        finally:
            with suppress(OSError):  # the refs may have moved: a note that stays only makes the next writer look
                os.ftruncate(self._handle, 0)

    @contextmanager
    def moving_many(self) -> Iterator[Callable[[str], None]]:
        """Yield a function that notes the lock of one more file; call it after `is_free`, before the lock is taken."""
        size = 0

        def note(name: str) -> None:
            nonlocal size
            size += os.pwrite(self._handle, f"{name}\n".encode(), size)

        try:
            yield note
        finally:
            with suppress(OSError):  # as in `moving`
                os.ftruncate(self._handle, 0)

    def sweep(self, *names: str) -> None:
        """Remove the locks of these files that a dead process left; locks of a living git stay."""
        for name in names:
            _remove_if_old(self._repository / f"{name}.lock")

    def _sweep_noted(self) -> None:
        noted = os.pread(self._handle, os.fstat(self._handle).st_size, 0).decode(errors="replace")
        if noted:
            for name in filter(None, noted.split("\n")):
                (self._repository / f"{name}.lock").unlink(missing_ok=True)
                self._sync_above(name)
            os.ftruncate(self._handle, 0)

    def _sync_above(self, name: str) -> None:
        """Make the folders of a ref durable that the dead process may have made."""
        for folder in (self._repository / name).parents:
            if folder.is_relative_to(self._repository):
                with suppress(FileNotFoundError, NotADirectoryError):
                    sync_directory(folder)


@contextmanager
def hold(repository: Path, wait: float = WAIT_SECONDS) -> Iterator[RepositoryLock]:
    """Hold the repository's lock. Raises Busy after `wait` seconds, NotFound if the repository does not exist.

    Not re-entrant: code that runs under it cannot take it again.
    """
    handle = _open(repository)
    try:
        _acquire(handle, repository, wait)
        lock = RepositoryLock(repository, handle)
        lock._sweep_noted()  # noqa: SLF001 - the only caller, in the same module
        yield lock
    finally:
        with suppress(OSError):  # Linux closes it in any case: https://man7.org/linux/man-pages/man2/close.2.html
            os.close(handle)


def _open(repository: Path) -> int:
    try:
        return os.open(repository / FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except FileNotFoundError as ex:
        raise NotFound(f"There is no namespace {repository.stem!r}.") from ex


def _acquire(handle: int, repository: Path, wait: float) -> None:
    if not acquire(handle, wait):
        raise Busy("Another writer holds this namespace. Try again in a moment.")
    # A deletion unlinks the lock file, and a new repository has a new one: the `flock` is then on a file without a
    # name.
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
