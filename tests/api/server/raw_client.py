"""A client of the service skeleton that sends raw bytes, and the kernel's view of its connections."""

import socket
from contextlib import closing
from pathlib import Path

import httpx

from tests.service import Service


def connect(service: Service) -> socket.socket:
    """Open a bare connection, whose reads fail after 10 seconds."""
    return socket.create_connection(("127.0.0.1", service.port), timeout=10)


def read_all(connection: socket.socket) -> bytes:
    """Read until the server closes or resets the connection."""
    parts: list[bytes] = []
    try:
        while piece := connection.recv(65536):
            parts.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def exchange(service: Service, request: bytes) -> bytes:
    """Send bytes over a new connection, and return all that the server sends before it closes."""
    with closing(connect(service)) as connection:
        connection.sendall(request)
        return read_all(connection)


def pid_of(service: Service, path: str = "/probe/pid") -> int:
    """Request a process id over a new connection."""
    return int(httpx.get(service.url + path, timeout=30).json())


def is_reset(connection: socket.socket) -> bool:
    """Tell whether the peer has aborted the connection, without reading from it."""
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0


def connections(service: Service) -> int:
    """Count the established connections to the service in the kernel's table."""
    port = f":{service.port:04X}"
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return sum(row[1].endswith(port) and row[3] == "01" for row in rows)
