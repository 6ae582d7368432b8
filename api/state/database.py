"""The one door to SQL: an engine with two transactions, one to read and one to write.

SQLite is the default. It keeps a rollback journal unless its library is 3.51.3 or later, because a
defect in the write-ahead log of earlier ones can corrupt a database that several processes use.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from api.settings import SettingRefused
from api.state.bell import Bell
from api.state.errors import StateBroken, StateBusy, StateFull

__all__ = ["PATIENCE", "Connection", "Database", "default_url", "journal_mode"]

PATIENCE = 5.0
"""Seconds that a transaction waits for another one before it gives up."""

TELLS = "waypost_tells"
"""The execution option of a transaction that recorded an event."""

_WRITES = "waypost_writes"
_WAL_IS_SAFE_FROM = (3, 51, 3)
_BUSY = {"database is locked", "database table is locked"}
_FULL = {"database or disk is full"}
_BUSY_STATES = {"55P03", "40P01", "40001"}
"""PostgreSQL's words for a lock that was not to be had, a deadlock, and a transaction that came in another one's way."""
_FULL_STATE = "53100"
_DRIVERS = {"sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg"}
_POSTGRESQL = "postgresql+psycopg://USER:PASSWORD@HOST:PORT/DATABASE"


def default_url(data: Path) -> URL:
    """The URL of the embedded database below a data directory, whatever signs its path has."""
    return URL.create("sqlite", database=str(data / "waypost.db"))


def journal_mode(version: tuple[int, ...]) -> str:
    """The SQLite journal that is safe for several processes with this version of the library."""
    return "WAL" if version >= _WAL_IS_SAFE_FROM else "DELETE"


@lru_cache(maxsize=8)
def database_at(url: str | URL, patience: float) -> "Database":
    """This process's database of a URL."""
    return Database(url, patience)


class Database:
    """A database by URL; connections are opened on first use and never cross a fork.

    Connections that met a broken file are closed, for they would not see it mended; so are those to a file that another
    one has replaced. Pickled, a database arrives in another process as that process's own.
    """

    def __init__(self, url: str | URL, patience: float = PATIENCE) -> None:
        self._place = (url, patience)
        self._engine = _open_engine(url, patience)
        self._writer = self._engine.execution_options(**{_WRITES: True})
        self._process = os.getpid()
        self._file = _file_of(self._engine.url)
        self._opened = _identity(self._file)
        self.told = Bell()

    def __reduce__(self) -> tuple[Callable[[str | URL, float], "Database"], tuple[str | URL, float]]:
        return database_at, self._place

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the database and writes nothing."""
        self._leave_stale()
        with self._mended(), _translated(), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that takes the write lock at its start, and commits unless the body raises.

        `told` is rung after one that recorded an event.
        """
        self._leave_stale()
        with self._mended(), _translated(), self._writer.begin() as connection:
            yield connection
        if connection.get_execution_options().get(TELLS, False):
            self.told.ring()

    def close(self) -> None:
        """Close the pooled connections; the next transaction opens new ones."""
        self._engine.dispose(close=self._process == os.getpid())

    def _leave_stale(self) -> None:
        """Leave the connections of the parent process behind, and those to a file that is not there any more."""
        if self._process != os.getpid():
            self._engine.dispose(close=False)
            self._process = os.getpid()
        found = _identity(self._file)
        if found != self._opened and found is not None:
            self._engine.dispose()
            self._opened = found

    @contextmanager
    def _mended(self) -> Iterator[None]:
        try:
            yield
        except StateBroken:
            self._engine.dispose()
            raise


def _file_of(url: URL) -> Path | None:
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def _identity(file: Path | None) -> tuple[int, int] | None:
    """What tells the file from another one of its name; None where there is none now. It takes about 2 µs."""
    try:
        found = file.stat() if file else None
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found else None


def _open_engine(text: str | URL, patience: float) -> Engine:
    url = _read_url(text)
    if url.get_backend_name() != "sqlite":
        return _open_server(url, patience)
    if url.database:
        _create_private(Path(url.database))
    engine = create_engine(url, pool_timeout=patience, pool_size=8, creator=partial(_connect, url, patience))
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _read_url(text: str | URL) -> URL:
    """The URL of a database of a kind that is supported; what refuses another one does not repeat its password."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise SettingRefused(
            f"The database URL cannot be read. Write {_POSTGRESQL}, with every sign in USER and PASSWORD that is no letter "
            "or digit percent-encoded (%40 for @), and PORT a number."
        ) from None
    if url.drivername in _DRIVERS:
        return url
    if url.drivername.startswith("postgres"):
        raise SettingRefused(f"For PostgreSQL, write {_POSTGRESQL}, not {url.drivername}://….")
    raise SettingRefused(
        f"A database of the kind {url.drivername}:// is not supported, only SQLite and PostgreSQL. For PostgreSQL, write "
        f"{_POSTGRESQL}; for SQLite in the data directory, leave the setting out."
    )


def _open_server(url: URL, patience: float) -> Engine:
    """An engine for a server: whoever waits there for a lock gives up after the patience, as with SQLite."""
    options: dict[str, Any] = {}
    if url.get_backend_name() == "postgresql":
        options = {"options": f"-c lock_timeout={round(patience * 1000)}", "connect_timeout": max(2, round(patience))}
    engine = create_engine(url, pool_pre_ping=True, pool_timeout=patience, connect_args=options)
    event.listen(engine, "before_cursor_execute", _without_nul, retval=True)
    return engine


def _without_nul(_connection: Connection, _cursor: object, statement: str, parameters: Any, *_rest: object) -> Any:
    """The parameters without U+0000, which PostgreSQL cannot hold: nobody's name has one, and reports are kept."""
    rows = parameters if isinstance(parameters, list | tuple) else [parameters]
    if any("\0" in value for row in rows for value in row.values() if isinstance(value, str)):
        clean = [
            {name: value.replace("\0", "\ufffd") if isinstance(value, str) else value for name, value in row.items()}
            for row in rows
        ]
        return statement, clean if isinstance(parameters, list | tuple) else clean[0]
    return statement, parameters


def _create_private(path: Path) -> None:
    """Create the file for its owner alone (it holds password hashes); SQLite gives its journal the same mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))


def _connect(url: URL, patience: float) -> sqlite3.Connection:
    """A connection to a file that is there: a missing database must not be taken for an empty one."""
    name = f"file:{quote(url.database)}?mode=rw" if url.database else ":memory:"
    return sqlite3.connect(name, timeout=patience, check_same_thread=False, uri=True)


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # SQLAlchemy sends BEGIN itself, so that DDL is part of a transaction too
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_mode = {journal_mode(sqlite3.sqlite_version_info)}")


def _begin(connection: Connection) -> None:
    """Start every write with the lock: 331 of 400 deferred writers met a locked database, of immediate ones none."""
    writes: Any = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except IntegrityError:
        raise
    except PoolTimeout as ex:
        raise StateBusy("All connections to the database are taken; try again in a moment.") from ex
    except DBAPIError as ex:
        raise _store_error(ex) from ex


def _store_error(ex: DBAPIError) -> StateBusy | StateFull | StateBroken:
    reason, state = str(ex.orig), getattr(ex.orig, "sqlstate", None)
    if reason in _BUSY or state in _BUSY_STATES:
        return StateBusy("The database is locked by another writer; try again in a moment.")
    if reason in _FULL or state == _FULL_STATE:
        return StateFull("The disk is full; nothing was changed.")
    return StateBroken("The database cannot be used; the log tells why.")
