"""Connections to each worker of a service; the worker of a connection is read from /proc."""

from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path

from tests.service import Service

_MAX_TRIES = 200


def connect_all(service: Service) -> dict[int, HTTPConnection]:
    """Open a connection to each worker; return them by process id."""
    found: dict[int, HTTPConnection] = {}
    wanted = service.workers()
    for _ in range(_MAX_TRIES):
        connection = HTTPConnection("127.0.0.1", service.port, timeout=30)
        ask(connection, "/health/ping", {})
        worker = _owner(connection.sock.getsockname()[1], service.port, wanted)
        if worker in found:
            connection.close()
        found.setdefault(worker, connection)
        if len(found) == len(wanted):
            return found
    raise AssertionError(f"no connection reached the workers {wanted - found.keys()}")


def ask(connection: HTTPConnection, path: str, headers: Mapping[str, str]) -> bytes:
    """Return the body of a response; raise AssertionError for an error."""
    connection.request("GET", path, headers=dict(headers))
    response = connection.getresponse()
    body = response.read()
    if response.status >= 400:
        raise AssertionError(f"{path} returned {response.status}: {body[:500]!r}")
    return body


def _owner(client: int, server: int, workers: set[int]) -> int:
    """Return the worker at the server's end of a connection between two ports of the loopback address."""
    target = f"socket:[{_inode(server, client)}]"
    return next(worker for worker in workers if target in _open_files(worker))


def _inode(local: int, remote: int) -> str:
    for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(f":{local:04X}") and fields[2].endswith(f":{remote:04X}"):
            return fields[9]
    raise AssertionError(f"no connection from port {remote} to {local}")


def _open_files(pid: int) -> set[str]:
    return {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.is_symlink()}
