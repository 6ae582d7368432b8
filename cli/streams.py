"""Standard output and standard error as they are outside: closed early, full, or not able to show every character."""

import os
import sys
from contextlib import suppress
from typing import TextIO

import click


class OutputRefused(Exception):
    """A stream does not take what is written, such as a file on a full disk."""


def prepare_streams() -> None:
    """Let no character of a file's name or a rule stop a command: what a stream cannot show is escaped."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # None where the stream was closed before the start
        if reconfigure:
            reconfigure(errors="backslashreplace")


def write(text: str, *, err: bool = False) -> None:
    """Write text; where the reader has gone (`| head`), the rest of the output goes nowhere and the work goes on."""
    stream = sys.stderr if err else sys.stdout
    try:
        click.echo(text, nl=False, err=err)
    except BrokenPipeError:
        _discard(stream)
    except OSError as ex:
        _discard(stream)
        if err:  # there is no place left to say so, and what was asked for is not lost
            return
        raise OutputRefused(f"The output cannot be written: {ex.strerror}.") from ex


def flush_streams() -> bool:
    """Write what is left; false where a stream, such as a file on a full disk, does not take it."""
    flushed = [_flush(stream) for stream in (sys.stdout, sys.stderr) if stream]
    return all(flushed)


def printable(line: str) -> str:
    """A line that does to a terminal nothing but show: control characters and the like are escaped."""
    if line.isprintable():
        return line
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in line)


def _flush(stream: TextIO) -> bool:
    try:
        stream.flush()
    except BrokenPipeError:
        _discard(stream)
    except OSError:
        _discard(stream)
        return False
    return True


def _discard(stream: TextIO) -> None:
    """Lead a stream nowhere, so that Python does not fail on it once more when it ends."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
