"""Slow clients by the hundred: each holds a connection and does as little as it can."""

import select
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

_PAUSE = 0.25
_SMALL = 2048
_SEGMENT = 536
_PIECE = 8192
_ENDED = select.POLLRDHUP | select.POLLHUP | select.POLLERR


@dataclass(frozen=True)
class SlowKind:
    """A kind of slow client: the bytes it sends at once, and the piece it repeats; without a piece it never reads."""

    name: str
    opening: bytes
    piece: bytes = b""


_Open = dict[int, tuple[SlowKind, socket.socket, float]]


@dataclass
class SlowClients:
    """Connections of some kinds, and after how many seconds the server ended each."""

    port: int
    kinds: Sequence[SlowKind]
    each: int
    ended: dict[str, list[float]] = field(default_factory=dict)

    def hold(self, seconds: float) -> None:
        """Open all of them, and hold them until the server has ended every one, or for so many seconds."""
        open_ones: _Open = {}
        poll = select.poll()
        try:
            for number, kind in enumerate(self.each * list(self.kinds)):
                connection = _open(self.port, kind)
                open_ones[connection.fileno()] = (kind, connection, time.monotonic())
                poll.register(connection, _ENDED)
                if number % 100 == 0:
                    self._note(open_ones, poll, 0)
            until = time.monotonic() + seconds
            while open_ones and time.monotonic() < until:
                self._look(open_ones, poll)
        finally:
            for _, connection, _ in open_ones.values():
                connection.close()

    def _look(self, open_ones: _Open, poll: select.poll) -> None:
        """Let all send their next piece, and note those that are ended meanwhile."""
        until = time.monotonic() + _PAUSE
        for kind, connection, _ in open_ones.values():
            if kind.piece:
                with suppress(OSError):
                    connection.send(kind.piece)
        while (left := until - time.monotonic()) > 0:
            self._note(open_ones, poll, left)

    def _note(self, open_ones: _Open, poll: select.poll, seconds: float) -> None:
        """Note those that have ended, or the first that will within so many seconds."""
        for number, _ in poll.poll(seconds * 1000):
            kind, connection, since = open_ones.pop(number)
            self.ended.setdefault(kind.name, []).append(time.monotonic() - since)
            poll.unregister(number)
            connection.close()


def _open(port: int, kind: SlowKind) -> socket.socket:
    """Open a connection; a client that never reads gets small kernel buffers, so that no response fits in them."""
    connection = socket.socket()
    if not kind.piece:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, _SEGMENT)
    connection.settimeout(10)
    connection.connect(("127.0.0.1", port))
    connection.sendall(kind.opening)
    connection.setblocking(False)  # noqa: FBT003 - socket's own
    return connection


def take_slowly(port: int, request: bytes, pieces: int) -> tuple[int, int]:
    """Read an answer in so many small pieces, four a second, and then the rest; gives its length and how much came."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
        connection.settimeout(30)
        connection.connect(("127.0.0.1", port))
        connection.sendall(request)
        came, nothing = bytearray(), select.poll()
        with suppress(ConnectionError):
            for _ in range(pieces):
                came += connection.recv(_PIECE)
                nothing.poll(_PAUSE * 1000)
            while more := connection.recv(1 << 20):
                came += more
    head, _, body = bytes(came).partition(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return int(length.partition(b":")[2]), len(body)


def latencies(ask: Callable[[], None], going: Callable[[], bool]) -> list[float]:
    """Measure the seconds of each call, one after another, while `going` is true; return them sorted."""
    found = []
    while going():
        begun = time.monotonic()
        ask()
        found.append(time.monotonic() - begun)
    return sorted(found)
