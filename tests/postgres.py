"""A PostgreSQL server of its own on a free loopback port, for as long as a test needs it."""

import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.service import wait_until

PATIENCE = 60.0
_OWNER = "postgres"
_FAST = "\nfsync = off\nmax_connections = 200\nunix_socket_directories = ''\nlisten_addresses = '127.0.0.1'\n"
"""Nothing has to outlive the test; and nothing is to be found by others than through the port."""


@dataclass(frozen=True)
class Postgres:
    """A running server."""

    port: int

    def database(self) -> str:
        """The URL of a new, empty database."""
        name = f"waypost_{secrets.token_hex(6)}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return f"postgresql+psycopg://{_OWNER}@127.0.0.1:{self.port}/{name}"

    def answers(self) -> bool:
        """Tell whether it takes connections."""
        try:
            psycopg.connect(self._address("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _address(self, name: str) -> str:
        return f"postgresql://{_OWNER}@127.0.0.1:{self.port}/{name}"


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A server on a free port, until the end; it refuses to run as root, and then runs as the user of its package."""
    folder = Path(tempfile.mkdtemp(prefix="waypost-postgres-"))
    owner = _OWNER if os.geteuid() == 0 else None
    if owner:
        os.chown(folder, pwd.getpwnam(owner).pw_uid, -1)
    try:
        data = folder / "data"
        command = [
            _program("initdb"),
            "--auth=trust",
            f"--username={_OWNER}",
            "--encoding=UTF8",
            "--no-sync",
            str(data),
        ]
        subprocess.run(command, check=True, user=owner, cwd=folder, capture_output=True)
        with (data / "postgresql.conf").open("a", encoding="ascii") as file:
            file.write(_FAST)
        with _server(data, owner) as server:
            yield server
    finally:
        shutil.rmtree(folder)


@contextmanager
def _server(data: Path, owner: str | None) -> Iterator[Postgres]:
    port = _free_port()
    with (data.parent / "log").open("wb") as log:
        command = [_program("postgres"), "-D", str(data), "-p", str(port)]
        process = subprocess.Popen(command, user=owner, cwd=data, stdout=log, stderr=log)
        try:
            server = Postgres(port)
            wait_until(lambda: server.answers() or process.poll() is not None, PATIENCE, "PostgreSQL to start")
            assert process.poll() is None, (data.parent / "log").read_text("utf-8", "replace")
            yield server
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _program(name: str) -> str:
    """A program of the server: on the path, or where Debian keeps those of each version."""
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = shutil.which(name) or (str(kept[-1]) if kept else "")
    assert found, f"{name} is missing: install PostgreSQL, as `make test` does"
    return found


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
