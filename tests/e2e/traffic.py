"""Clients that send requests without a pause, and a report on every single one."""

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.service import Service

PATIENCE = 30.0


class EmptyResponse(Exception):
    """The connection ended before the first byte of the response."""


class TruncatedResponse(Exception):
    """The connection ended in the middle of the response."""


@dataclass(frozen=True)
class RepeatedRequest:
    """A request that is sent again and again, and a check of every response to it."""

    name: str
    request: bytes
    expected: Callable[[int, bytes], bool]
    kept: bool = True
    # seconds between two requests
    pause: float = 0.0


@dataclass
class ClientReport:
    """The outcomes of the requests of one client."""

    order: RepeatedRequest
    answered: int = 0
    # requests on a reused connection that was closed without a byte of the response, and were sent again
    retried: int = 0
    failed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    slowest: float = 0.0


class Traffic:
    """Clients in threads of their own, one for each request."""

    def __init__(self, service: Service, orders: Sequence[RepeatedRequest]) -> None:
        self.reports = [ClientReport(order) for order in orders]
        self._done = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(service.port, report)) for report in self.reports]

    @contextmanager
    def running(self) -> Iterator["Traffic"]:
        """Run the clients until the end of the block."""
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
        """Expected responses so far."""
        return sum(report.answered for report in self.reports)

    @property
    def failed(self) -> list[str]:
        """Every request that failed in a way that a client cannot simply retry."""
        return [each for report in self.reports for each in report.failed]

    @property
    def wrong(self) -> list[str]:
        """Every unexpected response."""
        return [each for report in self.reports for each in report.wrong]

    def _run(self, port: int, report: ClientReport) -> None:
        connection: KeepAliveConnection | None = None
        while not self._done.is_set():
            connection = self._ask(connection or KeepAliveConnection(port), report)
            if report.order.pause:
                self._done.wait(report.order.pause)
        if connection:
            connection.close()

    def _ask(self, line: "KeepAliveConnection", report: ClientReport) -> "KeepAliveConnection | None":
        """Send one request; return the connection if it is reusable."""
        used, begun = line.used, time.monotonic()
        try:
            status, headers, body = line.exchange(report.order.request)
        except EmptyResponse as ex:
            if used:
                report.retried += 1
            else:
                report.failed.append(f"{report.order.name}: fresh connection, {ex!r}")
        except (TruncatedResponse, OSError) as ex:
            report.failed.append(f"{report.order.name}: {ex!r}")
        else:
            report.slowest = max(report.slowest, time.monotonic() - begun)
            if report.order.expected(status, body):
                report.answered += 1
            else:
                report.wrong.append(f"{report.order.name}: {status} {body[:300]!r}")
            if report.order.kept and headers.get("connection", "").lower() != "close":
                return line
        line.close()
        return None


class KeepAliveConnection:
    """A connection that is opened with its first request."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._socket: socket.socket | None = None
        self.used = False

    def exchange(self, request: bytes) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body; raise EmptyResponse or TruncatedResponse if the connection ends."""
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
            raise (TruncatedResponse(repr(data[:200])) if data else EmptyResponse(repr(ex))) from ex
        self.used = True
        return status, headers, body

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()

    def _receive(self, data: bytes) -> bytes:
        assert self._socket is not None
        found = self._socket.recv(65536)
        if not found:
            raise TruncatedResponse(repr(data[:200])) if data else EmptyResponse("closed")
        return found


def _read_head(head: bytes) -> tuple[int, Mapping[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}
