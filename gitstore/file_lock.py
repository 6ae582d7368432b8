"""Locks between processes of one machine: `flock` on a file, which the kernel releases when its holder dies."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path

_POLL_SECONDS = 0.002


@contextmanager
def hold_lock_file(path: Path, wait: float = inf, mode: int = 0o600) -> Iterator[bool]:
    """Hold the lock of a file, created if missing in an existing folder; yield False if another process holds it for `wait` seconds.

    Not re-entrant. Raises OSError if the file cannot be created.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
    try:
        yield acquire(handle, wait)
    finally:
        with suppress(OSError):  # Linux closes it in any case: https://man7.org/linux/man-pages/man2/close.2.html
            os.close(handle)


def acquire(handle: int, wait: float) -> bool:
    """Take an exclusive `flock` on an open file within `wait` seconds; false if another process holds it for longer."""
    if wait == inf:
        fcntl.flock(handle, fcntl.LOCK_EX)
        return True
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            # flock(2) has no timeout: only a signal could end a blocking call, and threads other than the main one get
            # none. https://man7.org/linux/man-pages/man2/flock.2.html
            time.sleep(_POLL_SECONDS)
        else:
            return True
