"""Standard output and standard error, which may be closed early, full, or unable to encode every character."""

import os
import sys
from contextlib import suppress
from typing import TextIO

import click


class OutputFailed(Exception):
    """A stream that cannot be written, such as a file on a full disk."""


_given: dict[str, str] = {}  # the error handler of each stream before `prepare_streams`


def prepare_streams() -> None:
    """Escape the characters that a stream cannot encode, so that no file name or rule can stop a command."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        # Python sets the stream to None if its descriptor was closed before the start (`>&-`).
        # https://docs.python.org/3/library/sys.html#sys.__stdout__
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            _given[name] = stream.errors
            reconfigure(errors="backslashreplace")


def restore_streams() -> None:
    """Undo `prepare_streams`, before a program of the user runs."""
    for name, errors in _given.items():
        getattr(sys, name).reconfigure(errors=errors)


def write(text: str, *, err: bool = False, colors: bool = False) -> None:
    """Write text; after the reader has closed the pipe (`| head`), the output is dropped and the command continues.

    Without `colors`, escape sequences of colors are removed where the stream is no terminal.
    """
    stream = sys.stderr if err else sys.stdout
    try:
        click.echo(text, nl=False, err=err, color=colors or None)
    except BrokenPipeError:
        _redirect_to_null(stream)
    except OSError as ex:
        _redirect_to_null(stream)
        if err:  # nothing is left to report it on, and the result on standard output is not lost
            return
        raise OutputFailed(f"The output cannot be written: {ex.strerror}.") from ex


def flush_streams() -> bool:
    """Flush both streams; false if one cannot be written, such as a file on a full disk."""
    flushed = [_flush(stream) for stream in (sys.stdout, sys.stderr) if stream]
    return all(flushed)


def _flush(stream: TextIO) -> bool:
    try:
        stream.flush()
    except BrokenPipeError:
        _redirect_to_null(stream)
    except OSError:
        _redirect_to_null(stream)
        return False
    return True


def _redirect_to_null(stream: TextIO) -> None:
    """Redirect a stream to the null device."""
    # Else Python flushes it once more at exit, fails again, and exits with 120.
    # https://docs.python.org/3/library/signal.html#note-on-sigpipe
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
