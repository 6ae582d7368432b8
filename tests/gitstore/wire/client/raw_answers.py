"""The answers of bad hosts, byte by byte: any head and body, and those that never end. They are for `http_host.answering`."""

import time
from collections.abc import Callable, Iterable
from itertools import repeat
from socket import socket

Answer = Callable[[socket], None]

_PAUSE = 0.05
_JSON = b"application/json"


def send(data: bytes) -> Answer:
    """Return an answer of these bytes, whatever they are."""
    return lambda connection: connection.sendall(data)


def reply(head: bytes, body: bytes = b"", media: bytes = _JSON) -> Answer:
    """Return an answer with a status line, to which headers may be added, and a body."""
    return send(
        b"HTTP/1.1 %b\r\nContent-Type: %b\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
        % (head, media, len(body), body)
    )


def begin(head: bytes, body: bytes = b"", media: bytes = _JSON) -> bytes:
    """Return the begin of an answer whose body goes on."""
    return b"HTTP/1.1 %b\r\nContent-Type: %b\r\n\r\n%b" % (head, media, body)


def flood(first: bytes, pieces: Iterable[bytes]) -> Answer:
    """Return an answer that sends pieces as fast as they are read."""

    def answer(connection: socket) -> None:
        connection.sendall(first)
        for piece in pieces:
            connection.sendall(piece)

    return answer


def drip(first: bytes) -> Answer:
    """Return an answer that never ends, a byte at a time."""

    def answer(connection: socket) -> None:
        connection.sendall(first)
        for byte in repeat(b"f"):
            connection.sendall(byte)
            time.sleep(_PAUSE)

    return answer


DRIPPED_HEAD = drip(b"HTTP/1.1 200 OK\r\nX-Slow: ")
"""A header that never ends."""


def keep_silent(connection: socket) -> None:
    """Answer nothing until the client closes."""
    connection.recv(1)
