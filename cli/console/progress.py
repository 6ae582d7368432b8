"""The status line of long work, on standard error; only on a terminal."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cli.console.streams import write
from content.records.printable import escape_unprintable

_ERASE = "\r\x1b[K"  # carriage return, then EL (erase to the end of the line): man 4 console_codes
_REFRESH_SECONDS = 0.1  # least time between two changes of the line, so that its cost is negligible


@contextmanager
def show_status(text: str) -> Iterator[Callable[[str], None]]:
    """Show a status line until the end of the block; yields a function that changes the line."""
    if not _is_terminal():
        yield _ignore
        return
    line = _Line()
    line.show(text)
    try:
        yield line.change
    finally:
        write(_ERASE, err=True)


class _Line:
    """The status line; a text with another first word is shown at once, others at most every 0.1 s."""

    def __init__(self) -> None:
        self._shown_at = 0.0
        self._kind = ""

    def show(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        write(_ERASE + escape_unprintable(text)[:width], err=True)
        self._shown_at, self._kind = time.monotonic(), _kind(text)

    def change(self, text: str) -> None:
        if _kind(text) != self._kind or time.monotonic() - self._shown_at > _REFRESH_SECONDS:
            self.show(text)


def _kind(text: str) -> str:
    return text.partition(" ")[0]


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _ignore(_text: str) -> None:
    pass
