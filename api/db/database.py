"""Access to the SQL database: an engine with two kinds of transactions, for reading and for writing.

SQLite is the default. It uses a rollback journal unless its library is 3.51.3 or later, because a bug in the
write-ahead log of earlier versions can corrupt a database that several processes use.
"""

import os
import secrets
import sqlite3
import time
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

from api.db.errors import StateBroken, StateBusy, StateFull
from api.settings import InvalidSetting
from gitstore.errors import is_disk_full


class Notifier:
    """A list of listeners, called in the thread that notifies."""

    def __init__(self) -> None:
        self._listeners: tuple[Callable[[], object], ...] = ()

    def listen(self, listener: Callable[[], object]) -> None:
        """Add a listener; it must return at once and never raise."""
        self._listeners = (*self._listeners, listener)

    def notify(self) -> None:
        """Call all listeners."""
        for listener in self._listeners:
            listener()


__all__ = ["LOCK_TIMEOUT", "Connection", "Database", "create_database", "database_file", "default_url", "journal_mode"]

LOCK_TIMEOUT = 5.0  # seconds that a transaction waits for another one
_TRUSTED_AFTER_SECONDS = 10

# The execution option of a transaction that recorded an event.
RECORDS_EVENT = "waypost_records_event"
# The execution option of a transaction with the work to do just before its commit.
BEFORE_COMMIT = "waypost_before_commit"

_WRITES = "waypost_writes"
# The first release without the WAL-reset bug: https://www.sqlite.org/wal.html#walresetbug
_WAL_IS_SAFE_FROM = (3, 51, 3)
_BUSY = {"database is locked", "database table is locked"}
_FULL = {"database or disk is full"}
_CANNOT_OPEN = "unable to open database file"  # or its journal
# PostgreSQL: lock_not_available, deadlock_detected, serialization_failure; disk_full.
# https://www.postgresql.org/docs/current/errcodes-appendix.html
_BUSY_STATES = {"55P03", "40P01", "40001"}
_FULL_STATE = "53100"
_DRIVERS = {"sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg"}
_POSTGRESQL = "postgresql+psycopg://USER:PASSWORD@HOST:PORT/DATABASE"


DATABASE_FILE = "waypost.db"


def default_url(data: Path) -> URL:
    """Return the URL of the embedded database in a data directory; its path may contain any characters."""
    return URL.create("sqlite", database=str(data / DATABASE_FILE))


def database_file(url: str | URL) -> Path | None:
    """Return the file of an embedded database; None for a server."""
    return _file_of(_read_url(url))


def create_database(url: str | URL) -> None:
    """Create the file of an embedded database if it is missing; no other call does.

    For its owner only, since it holds password hashes; SQLite gives its journal the same mode.
    """
    file = database_file(url)
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))


def journal_mode(version: tuple[int, ...]) -> str:
    """Return the SQLite journal mode that is safe for several processes with this version of the library."""
    return "WAL" if version >= _WAL_IS_SAFE_FROM else "DELETE"


@lru_cache(maxsize=8)
def database_at(url: str | URL, lock_timeout: float) -> "Database":
    """Return this process's database of a URL."""
    return Database(url, lock_timeout)


class Database:
    """A database by URL; connections are opened on first use and never cross a fork.

    Connections are closed after they read a broken file, since they would not see its repair, and after another file
    replaced theirs. An unpickled database is the one of the process that unpickles it.
    """

    def __init__(self, url: str | URL, lock_timeout: float = LOCK_TIMEOUT) -> None:
        self._arguments = (url, lock_timeout)
        self._engine = _open_engine(url, lock_timeout)
        is_server = self._engine.url.get_backend_name() != "sqlite"
        self._snapshots = (
            self._engine.execution_options(isolation_level="REPEATABLE READ") if is_server else self._engine
        )
        self._writer = self._engine.execution_options(**{_WRITES: True})
        self._process = os.getpid()
        self._file = _file_of(self._engine.url)
        self._opened = _identity(self._file)
        self.notifier = Notifier()

    def __reduce__(self) -> tuple[Callable[[str | URL, float], "Database"], tuple[str | URL, float]]:
        return database_at, self._arguments

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a read transaction; on PostgreSQL, each statement sees what was committed before it."""
        self._drop_stale_connections()
        with self._discard_broken(), _translate_errors(self._engine), self._engine.connect() as connection:
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Open a read transaction whose statements all see one state of the database."""
        self._drop_stale_connections()
        with self._discard_broken(), _translate_errors(self._engine), self._snapshots.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a write transaction, which takes the write lock at its start and commits unless the body raises.

        If it recorded an event, `notifier` is called after the commit.
        """
        self._drop_stale_connections()
        with self._discard_broken(), _translate_errors(self._engine), self._writer.begin() as connection:
            yield connection
            work = connection.get_execution_options().get(BEFORE_COMMIT)
            if work is not None:
                work()
        if connection.get_execution_options().get(RECORDS_EVENT, False):
            self.notifier.notify()

    def stamp(self) -> tuple[object, ...] | None:
        """Return what every commit changes; None where that is not known, as with a server. Takes about 5 µs.

        A file that was written in the last seconds has none: a second commit in the same tick of the clock would leave it
        as it is, and in a write-ahead log a commit is written some time before readers see it.
        """
        if self._file is None:
            return None
        files = tuple(_state_of(f"{self._file}{suffix}") for suffix in ("", "-wal"))
        newest = max(changed for _, _, changed in files)
        return files if time.time_ns() - newest > _TRUSTED_AFTER_SECONDS * 10**9 else None

    def close(self) -> None:
        """Close the pooled connections; the next transaction opens new ones."""
        self._engine.dispose(close=self._process == os.getpid())

    def _drop_stale_connections(self) -> None:
        """Drop the connections of the parent process, and those to a file that was replaced or removed.

        A connection to a moved file would still read it, and would create its journal at the old path.
        """
        if self._process != os.getpid():
            # A closed copy would end the parent's connection to a server:
            # https://docs.sqlalchemy.org/en/21/core/pooling.html#using-connection-pools-with-multiprocessing-or-os-fork
            self._engine.dispose(close=False)
            self._process = os.getpid()
        found = _identity(self._file)
        if found != self._opened:
            self._engine.dispose()
            self._opened = found
        if found is None and self._file is not None:
            raise StateBroken("The file of the database is missing. Restore it, or mount its file system again.")

    @contextmanager
    def _discard_broken(self) -> Iterator[None]:
        try:
            yield
        except StateBroken:
            self._engine.dispose()
            raise


def _file_of(url: URL) -> Path | None:
    return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def _identity(file: Path | None) -> tuple[int, int] | None:
    """Return device and inode of the file, to detect its replacement; None if it does not exist. Takes about 2 µs."""
    try:
        found = file.stat() if file else None
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if found else None


def _state_of(file: str) -> tuple[int, int, int]:
    """Return the inode, the size and the time of the last write; zeros for a file that does not exist."""
    try:
        found = os.stat(file)  # noqa: PTH116 - asked several times a second
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns


def _open_engine(text: str | URL, lock_timeout: float) -> Engine:
    url = _read_url(text)
    if url.get_backend_name() != "sqlite":
        return _open_server(url, lock_timeout)
    engine = create_engine(
        url,
        pool_timeout=lock_timeout,
        pool_size=8,
        creator=partial(_connect, url, lock_timeout),
        hide_parameters=True,  # errors go to the log, and some values are secrets
    )
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _read_url(text: str | URL) -> URL:
    """Parse the URL of a supported database; the error of an unsupported one does not contain its password."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise InvalidSetting(
            f"Invalid database URL. Write {_POSTGRESQL}, with PORT a number, and every character in USER and PASSWORD "
            "except letters and digits percent-encoded (%40 for @)."
        ) from None
    if url.drivername in _DRIVERS:
        return url
    if url.drivername.startswith("postgres"):
        raise InvalidSetting(f"Unsupported driver {url.drivername}://…. For PostgreSQL, write {_POSTGRESQL}.")
    raise InvalidSetting(
        f"Unsupported database {url.drivername}://. Use SQLite or PostgreSQL: for PostgreSQL, write {_POSTGRESQL}; "
        "for SQLite in the data directory, leave the setting out."
    )


def _open_server(url: URL, lock_timeout: float) -> Engine:
    """Create an engine for a server, with the same lock timeout as SQLite."""
    options: dict[str, Any] = {}
    if url.get_backend_name() == "postgresql":
        options = {
            "options": f"-c lock_timeout={round(lock_timeout * 1000)}",
            # psycopg 3.3 takes whole seconds, at least 2, and 0 as no limit, like libpq:
            # https://www.postgresql.org/docs/16/libpq-connect.html#LIBPQ-CONNECT-CONNECT-TIMEOUT
            "connect_timeout": max(2, round(lock_timeout)),
        }
    engine = create_engine(
        url, pool_pre_ping=True, pool_timeout=lock_timeout, connect_args=options, hide_parameters=True
    )
    event.listen(engine, "before_cursor_execute", _without_nul, retval=True)
    return engine


def _without_nul(_connection: Connection, _cursor: object, statement: str, parameters: Any, *_rest: object) -> Any:
    """Replace U+0000 in the parameters, so that a report with one is stored; no name contains it."""
    # PostgreSQL cannot store the character: https://www.postgresql.org/docs/current/datatype-character.html
    rows = parameters if isinstance(parameters, list | tuple) else [parameters]
    if any("\0" in value for row in rows for value in row.values() if isinstance(value, str)):
        clean = [
            {name: value.replace("\0", "\ufffd") if isinstance(value, str) else value for name, value in row.items()}
            for row in rows
        ]
        return statement, clean if isinstance(parameters, list | tuple) else clean[0]
    return statement, parameters


def _connect(url: URL, lock_timeout: float) -> sqlite3.Connection:
    """Connect to an existing file, so that a missing database is not taken for an empty one."""
    # Without mode=rw SQLite creates a missing file: https://www.sqlite.org/uri.html#recognized_query_parameters
    name = f"file:{quote(url.database)}?mode=rw" if url.database else ":memory:"
    return sqlite3.connect(name, timeout=lock_timeout, check_same_thread=False, uri=True)


def _prepare(connection: sqlite3.Connection, _record: object) -> None:
    # The sqlite3 module begins a transaction only before DML; the listener `_begin` does it for all statements, so that
    # DDL and reads are part of a transaction too:
    # https://docs.sqlalchemy.org/en/21/dialects/sqlite.html#serializable-isolation-savepoints-transactional-ddl
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(f"PRAGMA journal_mode = {journal_mode(sqlite3.sqlite_version_info)}")


def _begin(connection: Connection) -> None:
    """Begin a transaction, a write with the lock: 331 of 400 deferred writers failed with a locked database, 0 of these."""
    # A deferred transaction that upgrades from read to write may fail at once, without the timeout:
    # https://www.sqlite.org/lang_transaction.html#deferred_immediate_and_exclusive_transactions
    writes: Any = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _translate_errors(engine: Engine) -> Iterator[None]:
    try:
        yield
    except IntegrityError:
        raise
    except PoolTimeout as ex:
        raise StateBusy("All database connections are in use. Try again in a moment.") from ex
    except DBAPIError as ex:
        raise _store_error(ex, engine.url) from ex


def _store_error(ex: DBAPIError, url: URL) -> StateBusy | StateFull | StateBroken:
    reason, state = str(ex.orig), getattr(ex.orig, "sqlstate", None)
    if reason in _BUSY or state in _BUSY_STATES:
        return StateBusy("The database is locked by another writer. Try again in a moment.")
    if reason in _FULL or state == _FULL_STATE or (reason == _CANNOT_OPEN and not _has_room_for_file(url)):
        return StateFull()
    return StateBroken("The database is not usable; see the log for the reason.")


def _has_room_for_file(url: URL) -> bool:
    """Tell whether the disk has room for one more file beside the database; SQLite does not tell why it has no journal."""
    path = Path(f"{url.database}.{secrets.token_hex(8)}.tmp")
    try:
        path.touch(mode=0o600)
        path.unlink()
    except OSError as ex:
        return not is_disk_full(ex)
    return True
