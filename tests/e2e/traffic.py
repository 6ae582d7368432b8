"""Clients that ask without a pause, and what became of every single request."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.service import Service

PATIENCE = 30.0


class Unanswered(Exception):
    """The connection ended before a single byte of the answer."""


class Torn(Exception):
    """The connection ended in the middle of the answer."""


@dataclass(frozen=True)
class Order:
    """A request that is sent again and again, and what every answer to it must be."""

    name: str
    request: bytes
    expected: Callable[[int, bytes], bool]
    kept: bool = True
    pause: float = 0.0
    """Seconds between two requests."""


@dataclass
class Tale:
    """What became of the requests of one client."""

    order: Order
    answered: int = 0
    retried: int = 0
    """Requests on a connection that had served before, closed without a byte of the answer: they were sent again."""
    failed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    slowest: float = 0.0


class Traffic:
    """Clients in threads of their own, one for each order."""

    def __init__(self, service: Service, orders: Sequence[Order]) -> None:
        self.tales = [Tale(order) for order in orders]
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(service.port, tale)) for tale in self.tales]

    @contextmanager
    def flowing(self) -> Iterator["Traffic"]:
        """Let it flow until the end of the block."""
        for thread in self._threads:
            thread.start()
        try:
            yield self
        finally:
            self._done.set()
            for thread in self._threads:
                thread.join()

    @property
    def answered(self) -> int:
        """Right answers so far."""
        return sum(tale.answered for tale in self.tales)

    @property
    def failed(self) -> list[str]:
        """Every request that a client could not simply send again."""
        return [each for tale in self.tales for each in tale.failed]

    @property
    def wrong(self) -> list[str]:
        """Every answer that was not the expected one."""
        return [each for tale in self.tales for each in tale.wrong]

    def _run(self, port: int, tale: Tale) -> None:
        connection: Line | None = None
        while not self._done.is_set():
            connection = self._ask(connection or Line(port), tale)
            if tale.order.pause:
                self._done.wait(tale.order.pause)
        if connection:
            connection.close()

    def _ask(self, line: "Line", tale: Tale) -> "Line | None":
        """One request; the connection if it may be used again."""
        used, begun = line.used, time.monotonic()
        try:
            status, headers, body = line.exchange(tale.order.request)
        except Unanswered as ex:
            if used:
                tale.retried += 1
            else:
                tale.failed.append(f"{tale.order.name}: fresh connection, {ex!r}")
        except (Torn, OSError) as ex:
            tale.failed.append(f"{tale.order.name}: {ex!r}")
        else:
            tale.slowest = max(tale.slowest, time.monotonic() - begun)
            if tale.order.expected(status, body):
                tale.answered += 1
            else:
                tale.wrong.append(f"{tale.order.name}: {status} {body[:300]!r}")
            if tale.order.kept and headers.get("connection", "").lower() != "close":
                return line
        line.close()
        return None


class Line:
    """A connection, opened with its first request."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self.used = False

    def exchange(self, request: bytes) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of the answer; Unanswered or Torn where the connection ends."""
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE)
        data = b""
        try:
            self._socket.sendall(request)
            while b"\r\n\r\n" not in data:
                data += self._receive(data)
            head, _, body = data.partition(b"\r\n\r\n")
            status, headers = _read_head(head)
            length = int(headers.get("content-length", "0")) if status != 304 else 0
            while len(body) < length:
                body += self._receive(data)
        except (ConnectionResetError, BrokenPipeError) as ex:
            raise (Torn(repr(data[:200])) if data else Unanswered(repr(ex))) from ex
        self.used = True
        return status, headers, body

    def close(self) -> None:
        """Close it."""
        if self._socket is not None:
            self._socket.close()

    def _receive(self, data: bytes) -> bytes:
        assert self._socket is not None
        found = self._socket.recv(65536)
        if not found:
            raise Torn(repr(data[:200])) if data else Unanswered("closed")
        return found


def _read_head(head: bytes) -> tuple[int, Mapping[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}
