"""The end of a worker: each response on an open connection announces that the connection closes, so no request is lost."""

import signal
import socket
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from api.app.services import open_services
from api.auth.permissions.grants import BUILT_IN_ROLES
from api.auth.permissions.principal import OPERATOR
from api.settings import Settings
from gitstore.git.repository import Author
from gitstore.store.store import create_store
from gitstore.yamlfiles.project_file import ProjectFile
from tests.service import Service, running

_LONG = "import runpy, sys; from api.server import worker; worker.DRAIN_SECONDS = 60; "
"""A worker that ends waits for its idle connections for so long that no machine is too slow for the test."""
_PATIENCE = 30
_ADA = Author("Ada", "ada@shop.example")


def command(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command of a service that ends slowly."""
    return (
        sys.executable,
        "-c",
        f"{_LONG}sys.argv = {['-', *arguments]}; runpy.run_module({module!r}, run_name='__main__')",
    )


@pytest.fixture
def agent(tmp_path: Path) -> str:
    """Return the token of an agent of a project."""
    store = create_store(tmp_path / "data")
    store.namespaces.create("acme", "", _ADA)
    store.projects.create("acme", "shop", ProjectFile("Shop"), _ADA)
    services = open_services(Settings(data=tmp_path / "data"))
    token = services.tokens.create(OPERATOR, "agent", BUILT_IN_ROLES["agent"][1]).value
    services.close()
    return token


def exchange(connection: socket.socket, path: str, token: str = "") -> bytes:
    """Ask on an open connection, and return the response; its head and its short body come in one piece."""
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    return connection.recv(65536)


def last_response(connection: socket.socket, path: str, token: str) -> bytes:
    """Ask until a response announces the end of the connection, and return it; each response before is a whole one."""
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        response = exchange(connection, path, token)
        assert response.startswith(b"HTTP/1.1 2"), response
        if b"connection: close" in response.lower():
            return response
    pytest.fail("no response announced the end of the connection")


def connect(service: Service) -> socket.socket:
    return socket.create_connection(("127.0.0.1", service.port), timeout=_PATIENCE)


def check_end(service: Service, path: str, token: str = "") -> None:
    """Stop a service that has open connections: the last response on each announces the end, and then comes the end."""
    service.client.close()  # its connection would be waited for
    with closing(connect(service)) as one, closing(connect(service)) as other:
        for connection in (one, other):
            assert b"connection: close" not in exchange(connection, path, token).lower()
        service.process.send_signal(signal.SIGTERM)
        for connection in (one, other):
            last_response(connection, path, token)
            assert connection.recv(1) == b"", "the end of the connection"
    assert service.process.wait(_PATIENCE) == 0


def test_responses_of_the_framework_announce_the_end(tmp_path: Path) -> None:
    """Guard: a client that is not warned may send its next request into a connection that is being closed."""
    with running(command("tests.api.skeleton"), tmp_path / "data", {"WAYPOST_WORKERS": "1"}) as service:
        check_end(service, "/probe/pid")


def test_responses_of_the_fast_path_announce_the_end(tmp_path: Path, agent: str) -> None:
    """As those of the framework: an agent that polls loses no poll to a reload."""
    with running(command("cli.main", "serve"), tmp_path / "data", {"WAYPOST_WORKERS": "1"}) as service:
        path = "/api/namespace/acme/project/shop/version"
        check_end(service, path, agent)
