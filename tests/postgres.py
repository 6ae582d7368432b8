"""A separate PostgreSQL server on a free loopback port, for the duration of a test."""

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.ports import free_port
from tests.service import wait_until

PATIENCE = 60.0
_OWNER = "postgres"
# No data has to outlive the test, and clients reach the server through its port alone.
_FAST = "\nfsync = off\nmax_connections = 200\nunix_socket_directories = ''\nlisten_addresses = '127.0.0.1'\n"


@dataclass(frozen=True)
class Postgres:
    """A running server."""

    port: int

    def database(self) -> str:
        """Create an empty database and return its URL."""
        name = f"waypost_{secrets.token_hex(6)}"
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return f"postgresql+psycopg://{_OWNER}@127.0.0.1:{self.port}/{name}"

    def answers(self) -> bool:
        """Return whether the server accepts connections."""
        try:
            psycopg.connect(self._address("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _address(self, name: str) -> str:
        return f"postgresql://{_OWNER}@127.0.0.1:{self.port}/{name}"


def waits_for_a_lock(url: str) -> bool:
    """Tell whether a connection to a database waits for a lock of another one."""
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        row = connection.execute(query).fetchone()
    return row is not None and row[0] > 0


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Run a server on a free port. PostgreSQL refuses to run as root; it then runs as the user of its package."""
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
    port = free_port()
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
    """Return the path of a server program."""
    found = find_program(name)
    assert found, f"{name} is missing: a test without the fixture `postgres_programs`"
    return found


def find_program(name: str) -> str:
    """Return the path of a server program: on the PATH, or in Debian's folder for each version; empty for none."""
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(kept[-1]) if kept else "")
