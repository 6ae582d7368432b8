"""Writing files so that a crash or a power cut leaves the old file or the new one, whole."""

import errno
import os
import secrets
from pathlib import Path

from gitstore.errors import OutOfSpace

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
TEMPORARY_PREFIX = "tmp_obj_waypost_"
"""What a crash leaves of files: a beginning that Git takes for its own too, so that neither fsck nor gc minds them."""


def sync_file(path: Path) -> None:
    """Make the bytes of a file durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_file(path: Path, data: bytes, *, sync: bool = True, mode: int = 0o644) -> None:
    """Put `data` at `path` in one step; with `sync` the bytes are on disk before the name is.

    The directory is not synced: a caller that needs the name to survive a power cut calls `sync_directory`.
    Raises OutOfSpace where the disk is full; nothing is left behind then.
    """
    temporary = path.parent / f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"
    try:
        _write_new(temporary, data, sync=sync, mode=mode)
        temporary.replace(path)
    except OSError as ex:
        temporary.unlink(missing_ok=True)
        raise translated(ex) from ex


def translated(ex: OSError) -> Exception:
    """OutOfSpace for the errors that mean a full disk, else the error itself."""
    if is_full(ex):
        return OutOfSpace("The disk is full; nothing was changed. Free some space and try again.")
    return ex


def is_full(ex: Exception) -> bool:
    """Tell whether an error means a full disk."""
    return isinstance(ex, OutOfSpace) or (isinstance(ex, OSError) and ex.errno in _FULL)


def _write_new(path: Path, data: bytes, *, sync: bool, mode: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        if sync:
            os.fsync(handle)
    finally:
        os.close(handle)
