"""The events of watched folders, by inotify: entries that are created, written, renamed or removed.

The event loop waits for them, so an idle watch costs nothing. `watchfiles` has a thread that looks every few milliseconds
with the interpreter locked, and is also woken for each file that any process opens in a folder:
https://github.com/notify-rs/notify/blob/notify-8.0.0/notify/src/inotify.rs
"""

import ctypes
import errno
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

# https://github.com/torvalds/linux/blob/master/include/uapi/linux/inotify.h
_CLOSE_WRITE = 0x00000008
_MOVED_FROM = 0x00000040
_MOVED_TO = 0x00000080
_CREATE = 0x00000100
_DELETE = 0x00000200
_Q_OVERFLOW = 0x00004000
_IGNORED = 0x00008000
_ONLYDIR = 0x01000000
ENTRIES = _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE
"""Events of the entries of a folder, whatever is written to them."""
FILES = ENTRIES | _CLOSE_WRITE
"""Events of the entries of a folder, also of a file that was written in its place."""
LOST = -1
"""In the place of the number of a folder: there were more events than the kernel keeps."""

_HEAD = struct.Struct("iIII")
_MOST_BYTES = 1 << 16
# Python has no function for it. The calls block no longer than a `stat`, so it does not matter that ctypes unlocks the interpreter.
_libc = ctypes.CDLL(None, use_errno=True)


class FolderEvent(NamedTuple):
    """An event: the number of the folder, and the name of the entry; or the end of the watch, as the folder was removed."""

    folder: int
    name: str
    is_end: bool = False


class FolderEvents:
    """The watched folders of one inotify instance; each has a number, which no later one has."""

    def __init__(self) -> None:
        """Create it without folders. Raises OSError if the user has too many instances."""
        self.handle = _checked(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        """Ready to be read once there are events."""
        self._turn = (
            threading.Lock()
        )  # of the handle: a thread that still adds folders must not meet the next one of its number

    def add(self, folder: Path, kinds: int) -> int:
        """Watch a folder, without those in it; return its number. Raises OSError if it is missing, or the user watches too many."""
        with self._turn:
            return _checked(_libc.inotify_add_watch(self.handle, os.fsencode(folder), kinds | _ONLYDIR))

    def remove(self, folder: int) -> None:
        """Watch a folder no more; one that was removed is not watched already."""
        with self._turn, suppress(OSError):
            _checked(_libc.inotify_rm_watch(self.handle, folder))

    def read(self) -> list[FolderEvent]:
        """Return the next events in their order, without waiting; empty if there are none."""
        try:
            return list(_parse(os.read(self.handle, _MOST_BYTES)))
        except BlockingIOError:
            return []

    def close(self) -> None:
        """End all watches."""
        with self._turn:
            os.close(self.handle)
            self.handle = -1


def _parse(data: bytes) -> Iterator[FolderEvent]:
    at = 0
    while at < len(data):
        folder, kinds, _, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size + length
        name = os.fsdecode(data[at - length : at].rstrip(b"\0"))
        yield FolderEvent(LOST if kinds & _Q_OVERFLOW else folder, name, bool(kinds & _IGNORED))


def _checked(result: int) -> int:
    if result >= 0:
        return result
    number = ctypes.get_errno()
    # The text of ENOSPC is that of a full disk: https://man7.org/linux/man-pages/man2/inotify_add_watch.2.html
    text = "the user watches too many folders" if number == errno.ENOSPC else os.strerror(number)
    raise OSError(number, text)
