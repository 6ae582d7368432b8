"""Copies of the embedded database: one state of it, made while others write; and what shows that a copy is equal."""

import os
import sqlite3
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from sqlalchemy.engine import URL

from api.db.database import database_file
from api.db.errors import StateBroken, StateBusy

_WAIT_SECONDS = 30.0
_ROWS = 1_000


def copy_database(source: Path, target: Path) -> None:
    """Copy a database by SQLite's backup interface, in one step, durably; writers wait as long as the copy takes.

    In several steps it would begin again after each write of another process, and under load never end:
    https://www.sqlite.org/backup.html
    """
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
    try:
        with _connect(source) as original, _connect(target) as copy:
            original.backup(copy, pages=-1)
        _drop_journal(target)
    except sqlite3.DatabaseError as ex:
        locked = isinstance(ex, sqlite3.OperationalError) and "locked" in str(ex)
        raise (StateBusy if locked else StateBroken)(f"The database cannot be copied ({ex}).") from ex
    handle = os.open(target, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_database(file: Path) -> list[str]:
    """Return the damage that SQLite finds in a file, a sentence each; empty for an intact database."""
    try:
        with _connect(file, read_only=True) as connection:
            damage = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(100)") if row[0] != "ok"]
            return damage + [
                f"row {row[1]} of the table {row[0]} names a row of {row[2]} that does not exist"
                for row in connection.execute("PRAGMA foreign_key_check").fetchmany(100)
            ]
    except sqlite3.DatabaseError as ex:
        return [str(ex)]


def read_revision(file: Path) -> str | None:
    """Return the revision of the tables; None for a file without them. Raises StateBroken."""
    try:
        with _connect(file, read_only=True) as connection:
            found = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.DatabaseError as ex:
        if "no such table" in str(ex):
            return None
        raise StateBroken(f"The database cannot be read ({ex}).") from ex
    return str(found[0]) if found else None


def digest_tables(file: Path) -> Mapping[str, tuple[int, str]]:
    """Return the number of rows of each table, and the SHA-256 over all of them in the order of their keys."""
    with _connect(file, read_only=True) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return {name: _digest(connection, name) for (name,) in names}


def rebuild_indexes(file: Path) -> None:
    """Build all indexes of a database again from its tables. Raises StateBroken."""
    try:
        with _connect(file) as connection:
            connection.execute("REINDEX")
    except sqlite3.DatabaseError as ex:
        raise StateBroken(f"The indexes of the database cannot be built again ({ex}).") from ex


def embedded_file(url: str | URL) -> Path | None:
    """Return the file of the database; None for one on a server, which has its own tools for backups."""
    return database_file(url)


def _digest(connection: sqlite3.Connection, table: str) -> tuple[int, str]:
    quoted = '"' + table.replace('"', '""') + '"'
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({quoted})")]
    order = ", ".join(str(number) for number in range(1, len(columns) + 1))
    count, digest = 0, sha256()
    cursor = connection.execute(f"SELECT * FROM {quoted} ORDER BY {order}")  # noqa: S608 - a name from the schema, quoted
    while rows := cursor.fetchmany(_ROWS):
        for row in rows:
            count += 1
            digest.update(repr(row).encode(errors="surrogatepass"))
    return count, digest.hexdigest()


def _drop_journal(file: Path) -> None:
    """Leave the copy as one file: without a write-ahead log that would have to be copied too."""
    with _connect(file) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")


class _Connection:
    """A connection that is closed at the end of the block; sqlite3's own only ends the transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> sqlite3.Connection:
        return self._connection

    def __exit__(self, *_error: object) -> None:
        self._connection.close()


def _connect(file: Path, *, read_only: bool = False) -> _Connection:
    uri = f"file:{quote(str(file))}?mode={'ro' if read_only else 'rw'}"
    return _Connection(sqlite3.connect(uri, timeout=_WAIT_SECONDS, uri=True, isolation_level=None))
