"""The line that says what long work is at: on a terminal, on standard error; in a pipe there is none."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cli.streams import printable, write

_ERASE = "\r\x1b[K"
_SECONDS = 0.1
"""Between two changes of the line, so that telling costs nothing."""


@contextmanager
def shown_status(text: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done, until the end of the block; the function that it gives changes the line."""
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
    """Shows a text of another kind at once, and one that begins as the last did now and then."""

    def __init__(self) -> None:
        self._shown = 0.0
        self._kind = ""

    def show(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        write(_ERASE + printable(text)[:width], err=True)
        self._shown, self._kind = time.monotonic(), _kind(text)

    def change(self, text: str) -> None:
        if _kind(text) != self._kind or time.monotonic() - self._shown > _SECONDS:
            self.show(text)


def _kind(text: str) -> str:
    return text.partition(" ")[0]


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _ignore(_text: str) -> None:
    pass
