"""Pkt-lines, the frames of Git's protocol: each has its length in four hex digits before its bytes.

https://git-scm.com/docs/gitprotocol-common#_pkt_line_format
"""

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Protocol

from gitstore.errors import BadRequest

MAX_DATA = 65_516
"""Bytes of data in one line, which with its length has at most 65,520."""
_LENGTH_BYTES = 4
_LENGTH = re.compile(rb"[0-9a-fA-F]{4}")

FLUSH, DELIMITER, RESPONSE_END = b"0000", b"0001", b"0002"

PACK_BAND, PROGRESS_BAND, ERROR_BAND = b"\1", b"\2", b"\3"
KEEP_ALIVE = b"0005" + PACK_BAND
"""A line of the pack's band without data, for clients that would give up."""


class Readable(Protocol):
    """A stream that gives exactly so many bytes, fewer only at its end."""

    def read(self, size: int, /) -> bytes:
        """Read bytes."""
        ...


class MalformedRequest(BadRequest):
    """The bytes of a request are not Git's protocol, or end too early."""

    code = "malformed_git_request"


class UnsupportedRequest(MalformedRequest):
    """A request is Git's protocol, and asks for what this service does not have; the client can show the message."""


class Mark(Enum):
    """A line without data that ends a part of a request: its section, the request itself, or the stream."""

    FLUSH = 0
    DELIMITER = 1
    RESPONSE_END = 2
    END = -1  # the stream has no more bytes


def pkt_line(data: bytes) -> bytes:
    """Frame bytes as one line."""
    if len(data) > MAX_DATA:
        raise ValueError(f"A pkt-line holds {MAX_DATA:,} bytes, not {len(data):,}.")
    return b"%04x%b" % (len(data) + _LENGTH_BYTES, data)


def text_line(text: str) -> bytes:
    """Frame a text as one line that ends with a line break."""
    return pkt_line(f"{text}\n".encode())


def band_lines(band: bytes, data: bytes, most: int = MAX_DATA) -> Iterator[bytes]:
    """Frame bytes of any length as lines of a band; `most` is the largest line's data, with the band."""
    size = most - len(band)
    for at in range(0, len(data), size):
        piece = data[at : at + size]
        yield b"%04x%b%b" % (len(piece) + len(band) + _LENGTH_BYTES, band, piece)


def error_line(message: str) -> bytes:
    """Frame the message that ends a fetch or the listing of refs; C git prints it after `remote error:`."""
    return text_line(f"ERR {message}")


def read_line(file: Readable) -> bytes | Mark:
    """Read one line from a stream, or the mark in its place. Raises MalformedRequest, also for half a line."""
    length = file.read(_LENGTH_BYTES)
    if not length:
        return Mark.END
    if not _LENGTH.fullmatch(length):
        fault = "ends within the length of a line" if len(length) < _LENGTH_BYTES else "has a line without a length"
        raise MalformedRequest(f"The request is not Git's protocol: it {fault}.")
    size = int(length, 16)
    if size < _LENGTH_BYTES:
        return _mark(size)
    data = file.read(size - _LENGTH_BYTES)
    if len(data) < size - _LENGTH_BYTES:
        raise MalformedRequest("The request is truncated: it ends within a line.")
    return data


def _mark(size: int) -> Mark:
    try:
        return Mark(size)
    except ValueError as ex:
        raise MalformedRequest("The request is not Git's protocol: a line is shorter than its own length.") from ex


def read_text(file: Readable) -> str | Mark:
    """Read one line as text, without its line break. Raises MalformedRequest."""
    found = read_line(file)
    if isinstance(found, Mark):
        return found
    try:
        return found.removesuffix(b"\n").decode()
    except UnicodeDecodeError as ex:
        raise MalformedRequest("The request is not Git's protocol: a line is not UTF-8.") from ex


def join_lines(lines: Iterable[bytes]) -> bytes:
    """Join framed lines, and end them with a flush."""
    return b"".join(lines) + FLUSH
