"""Requests as bytes on a socket, including ones that HTTP clients refuse to send; the worker of a connection."""

import os
import re
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import httpx

from tests.service import Service


def send_raw(
    service: Service, method: str, target: bytes, headers: Mapping[str, str] | None = None, body: bytes = b""
) -> httpx.Response:
    """Return the response to a request whose target is sent unchanged, over a new connection."""
    fields = {"Host": "localhost", "Connection": "close", **(headers or {})}
    if body:
        fields = {"Content-Length": str(len(body)), **fields}
    lines = b"".join(f"{name}: {value}\r\n".encode() for name, value in fields.items())
    with closing(socket.create_connection(("127.0.0.1", service.port), timeout=60)) as connection:
        connection.sendall(method.encode() + b" " + target + b" HTTP/1.1\r\n" + lines + b"\r\n" + body)
        data = b"".join(iter(lambda: connection.recv(65536), b""))
    return parse_answer(method, target, data)


def parse_answer(method: str, target: bytes, data: bytes) -> httpx.Response:
    """Parse a response without transfer coding from its bytes."""
    head, _, body = data.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    found = re.fullmatch(rb"HTTP/1\.1 (\d{3}) .*", status)
    assert found, data[:500]
    fields = [(name, value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
    kept = [(name, value) for name, value in fields if name.lower() != b"transfer-encoding"]
    shown = target.decode("ascii", "backslashreplace").replace("\\", "/")
    request = httpx.Request(method, httpx.URL("http://localhost", query=shown.encode()))
    return httpx.Response(int(found[1]), headers=kept, content=body, request=request)


def chunked(pieces: int, size: int) -> Iterator[bytes]:
    """Yield a chunked body, without an announced length."""
    return (b" " * size for _ in range(pieces))


def worker_of(service: Service, client_port: int) -> int:
    """Return the process id of the worker that holds the other end of a connection from this local port."""
    ends = (f"0100007F:{service.port:04X}", f"0100007F:{client_port:04X}")
    rows = (line.split() for line in Path("/proc/net/tcp").read_text("ascii").splitlines()[1:])
    inodes = {f"socket:[{row[9]}]" for row in rows if (row[1], row[2]) == ends}
    found = [pid for pid in service.workers() if inodes & _sockets(pid)]
    assert len(found) == 1, (found, inodes)
    return found[0]


def _sockets(pid: int) -> set[str]:
    names = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            names.add(str(link.readlink()))
        except FileNotFoundError:
            continue
    return names


# By default httpx closes a connection that was idle for five seconds, and the next one may be to another worker.
ONE = httpx.Limits(max_connections=1, keepalive_expiry=None)


class PinnedClient(NamedTuple):
    """A client with one connection, to a given worker."""

    pid: int
    http: httpx.Client


def pinned_pair(service: Service, stack: ExitStack) -> tuple[PinnedClient, PinnedClient]:
    """Return a client for each of the two workers; the stack closes them."""
    one, other = sorted(service.workers())
    return _pinned(service, one, stack), _pinned(service, other, stack)


def _pinned(service: Service, pid: int, stack: ExitStack) -> PinnedClient:
    """Open a persistent connection to one worker, while the other one is stopped."""
    http = stack.enter_context(httpx.Client(base_url=service.url, timeout=30, limits=ONE))
    (other,) = service.workers() - {pid}
    os.kill(other, signal.SIGSTOP)
    try:
        assert answering(service, http) == pid
    finally:
        os.kill(other, signal.SIGCONT)
    return PinnedClient(pid, http)


def answering(service: Service, http: httpx.Client) -> int:
    """Return the process id of the worker behind a client's persistent connection."""
    with http.stream("GET", "/health/ping") as answer:
        answer.read()
        assert answer.status_code == httpx.codes.NO_CONTENT
        port: int = answer.extensions["network_stream"].get_extra_info("client_addr")[1]
    return worker_of(service, port)
