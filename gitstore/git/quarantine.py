"""Quarantines: folders for the objects of a push, beside those of its repository, until the push is accepted.

A quarantine is locked as long as a process works in it, and the kernel frees the lock of a dead one: so the next push,
and the upkeep, remove what a dead process left. See docs/adr/0042-pushes-over-http.md.
"""

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from gitstore.errors import Busy, NotFound
from gitstore.file_lock import acquire
from gitstore.git.atomic_io import replace_file, sync_directory, translate_os_error
from gitstore.git.lock import hold

# The name of C git's own, so that its `git prune` removes old ones too:
# https://github.com/git/git/blob/master/tmp-objdir.c
_PREFIX = "tmp_objdir-waypost-"
REQUEST = "request"
_PACKS = "pack"
_PROGRESS = "progress"
_INSTALLING = "installing"
_LOCK_SECONDS = 5.0
_PACK_NAME = re.compile(r"pack-[0-9a-f]{40}")


class Quarantine:
    """The folder of one push; pickled, it is the same folder in another process, which locks it there."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def request(self) -> Path:
        """The body of the request, uncompressed."""
        return self.path / REQUEST

    @property
    def packs(self) -> Path:
        """The folder of the packs, as in a folder of objects."""
        return self.path / _PACKS

    @property
    def progress(self) -> Path:
        """The lines for the pusher's terminal so far."""
        return self.path / _PROGRESS

    def install(self, pack: str) -> None:
        """Move a pack, durable here, into the repository: as a whole, or not at all, whenever this process dies.

        The caller holds the repository's lock, and calls `release` once the refs have moved: until then the pack is
        protected from `git gc`.
        """
        target = self.path.parent / _PACKS
        target.mkdir(exist_ok=True)
        # Another push brought the same pack, which stays if this one is withdrawn.
        if all((target / f"{pack}{suffix}").exists() for suffix in (".pack", ".idx")):
            return
        replace_file(self.path / _INSTALLING, pack.encode())
        (target / f"{pack}.keep").touch()
        for suffix in (".pack", ".idx"):  # the index last: without it the pack is not read
            source = self.packs / f"{pack}{suffix}"
            source.chmod(0o444)
            source.rename(target / source.name)
        sync_directory(target)

    def release(self) -> None:
        """Let the installed pack be packed again like any other."""
        pack = self._installing()
        if pack:
            (self.path.parent / _PACKS / f"{pack}.keep").unlink(missing_ok=True)
            (self.path / _INSTALLING).unlink(missing_ok=True)

    def withdraw(self) -> None:
        """Remove a pack that was installed for refs that did not move after all."""
        pack = self._installing()
        for suffix in (".idx", ".pack") if pack else ():
            (self.path.parent / _PACKS / f"{pack}{suffix}").unlink(missing_ok=True)
        self.release()

    def discard(self) -> None:
        """Remove the folder, and the half of a pack that a dead process has installed. Raises Busy."""
        if self._installing():
            with suppress(NotFound), hold(self.path.parent.parent, _LOCK_SECONDS):
                pack = self._installing()
                base = self.path.parent / _PACKS / pack
                if pack and not base.with_suffix(".idx").exists():
                    base.with_suffix(".pack").unlink(missing_ok=True)
                self.release()
        shutil.rmtree(self.path, ignore_errors=True)

    def _installing(self) -> str:
        with suppress(OSError):
            pack = (self.path / _INSTALLING).read_text("ascii")
            if _PACK_NAME.fullmatch(pack):
                return pack
        return ""

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder, together with other processes of the same push. Raises NotFound if it is gone."""
        handle = _open(self.path)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH)
            if not _is_folder(handle, self.path):
                raise _gone()
            yield
        finally:
            os.close(handle)

    @contextmanager
    def abandoned(self) -> Iterator[bool]:
        """Hold the folder alone; yield False if a process works in it. Raises NotFound if it is gone."""
        handle = _open(self.path)
        try:
            yield acquire(handle, 0)
        finally:
            os.close(handle)


@contextmanager
def open_quarantine(repository: Path) -> Iterator[Quarantine]:
    """Make a quarantine, locked, and remove it at the end. Raises NotFound, OutOfSpace."""
    with ExitStack() as stack:
        made = _make(repository, stack)
        try:
            yield made
        finally:
            with suppress(Busy):  # the next sweep removes it
                made.discard()


def _make(repository: Path, stack: ExitStack) -> Quarantine:
    while True:
        made = Quarantine(repository / "objects" / f"{_PREFIX}{secrets.token_hex(8)}")
        try:
            made.path.mkdir(mode=0o700)
            stack.enter_context(made.locked())
            made.packs.mkdir()
        except (FileNotFoundError, NotFound) as ex:  # a sweep removed it before it was locked
            if not made.path.parent.is_dir():
                raise NotFound(f"There is no namespace {repository.stem!r}.") from ex
        except OSError as ex:
            raise translate_os_error(ex) from ex
        else:
            return made


def list_quarantines(repository: Path) -> list[Quarantine]:
    """List the quarantines of pushes, most of them in use."""
    objects = repository / "objects"
    try:
        return [Quarantine(objects / name) for name in os.listdir(objects) if name.startswith(_PREFIX)]  # noqa: PTH208 - asked every two seconds
    except (FileNotFoundError, NotADirectoryError):
        return []


def sweep_quarantines(repository: Path) -> None:
    """Remove the quarantines that dead processes left."""
    for each in list_quarantines(repository):
        with suppress(OSError, NotFound, Busy), each.abandoned() as is_abandoned:
            if is_abandoned:
                each.discard()


def has_abandoned(repository: Path) -> bool:
    """Tell whether a dead process left a quarantine."""
    for each in list_quarantines(repository):
        with suppress(OSError, NotFound), each.abandoned() as is_abandoned:
            if is_abandoned:
                return True
    return False


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError as ex:
        raise _gone() from ex


def _is_folder(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _gone() -> NotFound:
    return NotFound("The folder of this push was removed meanwhile. Push again.")
