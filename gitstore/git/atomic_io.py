"""Atomic file writes: a crash or a power cut leaves either the old file or the new one, complete."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from gitstore.errors import OutOfSpace, is_disk_full

# Git's own prefix of unfinished objects: `git fsck` ignores what a crash leaves of our files, and `git prune` removes
# it: https://github.com/git/git/blob/master/builtin/prune.c
TEMPORARY_PREFIX = "tmp_obj_waypost_"
_BUFFER = 1 << 20


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    # fsync of a file does not sync its name: https://man7.org/linux/man-pages/man2/fsync.2.html
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_file(path: Path, data: bytes, *, sync: bool = True, mode: int = 0o644) -> None:
    """Write `data` to `path` in one step; with `sync` the bytes are on disk before the name is.

    The directory is not synced: a caller that needs the name to survive a power cut calls `sync_directory`.
    Raises OutOfSpace if the disk is full, and then leaves nothing behind.
    """
    temporary = path.parent / f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    try:
        _write_new(temporary, data, sync=sync, mode=mode)
        temporary.replace(path)
    except OSError as ex:
        temporary.unlink(missing_ok=True)
        raise translate_os_error(ex) from ex


@contextmanager
def open_replacement(path: Path, *, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Write a file that is too large for memory piece by piece; it gets its name at the end, unsynced."""
    temporary = path.parent / f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    try:
        with open(temporary, "xb", buffering=_BUFFER, opener=partial(os.open, mode=mode)) as file:
            yield file
        temporary.replace(path)
    except OSError as ex:
        raise translate_os_error(ex) from ex
    finally:
        temporary.unlink(missing_ok=True)


def translate_os_error(ex: OSError) -> Exception:
    """Return OutOfSpace for an error that means a full disk, otherwise the error itself."""
    return OutOfSpace() if is_disk_full(ex) else ex


def write_all(handle: int, data: bytes) -> None:
    """Write bytes to a descriptor, however many calls it takes."""
    view = memoryview(data)
    while view:  # write(2) may write less than it was given: https://man7.org/linux/man-pages/man2/write.2.html
        view = view[os.write(handle, view) :]


def _write_new(path: Path, data: bytes, *, sync: bool, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        write_all(handle, data)
        if sync:
            os.fsync(handle)
    finally:
        os.close(handle)
