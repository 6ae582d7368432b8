"""Access to SQL, on real SQLite files and with real processes."""

import os
import sqlite3
import stat
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import monotonic

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from api.db.database import LOCK_TIMEOUT, Database, create_database, default_url, journal_mode
from api.db.errors import StateBroken, StateBusy, StateFull


@pytest.fixture
def database(tmp_path: Path) -> Database:
    create_database(default_url(tmp_path))
    found = Database(default_url(tmp_path))
    with found.writing() as connection:
        connection.execute(text("CREATE TABLE counter (number INTEGER NOT NULL CHECK (number >= 0))"))
        connection.execute(text("INSERT INTO counter VALUES (0)"))
    return found


def count(database: Database) -> int:
    with database.reading() as connection:
        return int(connection.execute(text("SELECT number FROM counter")).scalar_one())


def increment(folder: Path, times: int) -> int:
    """Read a number, then write it plus one; an update is lost or refused as busy if the lock comes too late."""
    database = Database(default_url(folder))
    for _ in range(times):
        with database.writing() as connection:
            number = connection.execute(text("SELECT number FROM counter")).scalar_one()
            connection.execute(text("UPDATE counter SET number = :number"), {"number": number + 1})
    database.close()
    return os.getpid()


def test_writers_in_many_processes_neither_lose_an_update_nor_meet_a_lock(database: Database, tmp_path: Path) -> None:
    with ProcessPoolExecutor(4, get_context("spawn")) as pool:
        workers = set(pool.map(increment, [tmp_path] * 8, [25] * 8))
    assert len(workers) > 1
    assert count(database) == 200


def test_a_locked_database_is_busy_after_the_patience_and_usable_again_afterwards(
    database: Database, tmp_path: Path
) -> None:
    hasty = Database(default_url(tmp_path), lock_timeout=0.1)
    with database.writing() as connection:
        connection.execute(text("UPDATE counter SET number = 7"))
        begun = monotonic()
        with pytest.raises(StateBusy), hasty.writing():
            pass
        assert 0.1 <= monotonic() - begun < LOCK_TIMEOUT
        assert count(hasty) == 0
    with hasty.writing() as connection:
        connection.execute(text("UPDATE counter SET number = number + 1"))
    assert count(database) == 8


def test_an_exclusive_lock_makes_reading_busy_and_not_broken(database: Database, tmp_path: Path) -> None:
    hasty = Database(default_url(tmp_path), lock_timeout=0.1)
    other = sqlite3.connect(tmp_path / "waypost.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StateBusy):
        count(hasty)
    other.execute("ROLLBACK")
    other.close()
    assert count(hasty) == count(database) == 0


def test_a_writing_transaction_that_raises_leaves_nothing(database: Database) -> None:
    with pytest.raises(ZeroDivisionError):
        write_and_raise(database)
    assert count(database) == 0
    with database.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM sqlite_master WHERE name = 'half'")).scalar_one() == 0


def write_and_raise(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(text("UPDATE counter SET number = 5"))
        connection.execute(text("CREATE TABLE half (number INTEGER)"))
        raise ZeroDivisionError


def test_reading_sees_one_state_from_its_first_look_to_its_end(database: Database, tmp_path: Path) -> None:
    with database.reading() as connection:
        before = connection.execute(text("SELECT number FROM counter")).scalar_one()
        with pytest.raises(StateBusy):
            increment_hastily(tmp_path)
        assert connection.execute(text("SELECT number FROM counter")).scalar_one() == before


def increment_hastily(folder: Path) -> None:
    with Database(default_url(folder), lock_timeout=0.1).writing() as connection:
        connection.execute(text("UPDATE counter SET number = number + 1"))


def test_a_full_disk_is_reported_as_such_and_changes_nothing(database: Database) -> None:
    with pytest.raises(StateFull):
        fill_up(database)
    database.close()
    assert count(database) == 0


def fill_up(database: Database) -> None:
    """Write more than the database may hold."""
    with database.writing() as connection:
        connection.execute(text("UPDATE counter SET number = 5"))
        connection.execute(text("PRAGMA max_page_count = 1"))
        connection.execute(text("CREATE TABLE blobs (content BLOB)"))
        connection.execute(text("INSERT INTO blobs VALUES (zeroblob(10000000))"))


def test_a_damaged_file_is_broken_and_never_empty(database: Database, tmp_path: Path) -> None:
    database.close()
    (tmp_path / "waypost.db").write_bytes(b"this is no database" * 1000)
    with pytest.raises(StateBroken) as caught:
        count(database)
    assert "waypost.db" not in str(caught.value)


def test_a_violated_constraint_is_left_to_the_writer(database: Database) -> None:
    with pytest.raises(IntegrityError), database.writing() as connection:
        connection.execute(text("UPDATE counter SET number = -1"))


def test_an_error_has_no_values_since_some_are_secrets(database: Database) -> None:
    with pytest.raises(IntegrityError) as caught, database.writing() as connection:
        connection.execute(text("UPDATE counter SET number = -length(:secret)"), {"secret": "canary"})
    assert "canary" not in str(caught.value)


def test_the_file_is_for_its_owner_alone(database: Database, tmp_path: Path) -> None:
    with database.writing() as connection:
        connection.execute(text("UPDATE counter SET number = 1"))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"waypost.db": 0o600, "waypost.db-journal": 0o600}


def test_every_connection_is_prepared(database: Database) -> None:
    with database.reading() as connection:
        found = {
            name: connection.execute(text(f"PRAGMA {name}")).scalar_one()
            for name in ("foreign_keys", "synchronous", "busy_timeout", "journal_mode", "mmap_size")
        }
    mode = journal_mode(sqlite3.sqlite_version_info).lower()
    assert found == {"foreign_keys": 1, "synchronous": 2, "busy_timeout": 5000, "journal_mode": mode, "mmap_size": 0}


@pytest.mark.parametrize(
    ("version", "mode"),
    [((3, 7, 0), "DELETE"), ((3, 40, 1), "DELETE"), ((3, 51, 2), "DELETE"), ((3, 51, 3), "WAL"), ((4, 0, 0), "WAL")],
)
def test_the_write_ahead_log_is_used_only_where_it_is_safe(version: tuple[int, ...], mode: str) -> None:
    assert journal_mode(version) == mode


def test_a_child_opens_connections_of_its_own(database: Database) -> None:
    """A connection that crosses a fork breaks SQLite's locks; those of the parent stay intact."""
    mine = handle(database)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with database.writing() as connection:
            connection.execute(text("UPDATE counter SET number = 9"))
            os.write(writer, b"same" if connection.connection.dbapi_connection is mine else b"other")
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == b"other"
    os.waitpid(child, 0)
    assert count(database) == 9
    assert handle(database) is mine


def handle(database: Database) -> object:
    """Return the connection of SQLite's own library behind a transaction."""
    with database.reading() as connection:
        return connection.connection.dbapi_connection


def overwritten(file: Path, content: bytes) -> None:
    """Overwrite the same file, as an operator's `cp` does."""
    with file.open("r+b") as stream:
        stream.truncate(0)
        stream.write(content)


def replaced(file: Path, content: bytes) -> None:
    """Replace the file by another, as an operator's `mv` does."""
    beside = file.with_suffix(".new")
    beside.write_bytes(content)
    beside.replace(file)


@pytest.mark.parametrize("mend", [overwritten, replaced])
@pytest.mark.parametrize("content", [b"", b"garbage" * 3_000], ids=["empty", "garbage"])
def test_a_database_that_was_broken_is_usable_once_its_file_is_good(
    database: Database, tmp_path: Path, mend: Callable[[Path, bytes], None], content: bytes
) -> None:
    file = tmp_path / "waypost.db"
    good = file.read_bytes()
    overwritten(file, content)
    for _ in range(3):
        with pytest.raises(StateBroken):
            count(database)
        with pytest.raises(StateBroken), database.writing() as connection:
            connection.execute(text("UPDATE counter SET number = 9"))
    mend(file, good)
    with database.writing() as connection:
        connection.execute(text("UPDATE counter SET number = 3"))
    assert count(database) == count(Database(default_url(tmp_path))) == 3


def test_a_file_that_another_has_replaced_is_not_read_any_more(database: Database, tmp_path: Path) -> None:
    """A backup restored under a running service does that."""
    before = (tmp_path / "waypost.db").read_bytes()
    increment(tmp_path, 4)
    assert count(database) == 4
    replaced(tmp_path / "waypost.db", before)
    assert count(database) == 0
    increment(tmp_path, 1)
    assert count(database) == 1


def test_a_file_that_was_moved_away_is_no_empty_database(database: Database, tmp_path: Path) -> None:
    """After it is moved back, the database is as before."""
    file, away = tmp_path / "waypost.db", tmp_path / "away"
    assert count(database) == 0
    file.rename(away)
    for _ in range(2):
        with pytest.raises(StateBroken), database.writing() as connection:
            connection.execute(text("UPDATE counter SET number = 9"))
    assert not file.exists()
    away.rename(file)
    increment(tmp_path, 1)
    assert count(database) == 1
