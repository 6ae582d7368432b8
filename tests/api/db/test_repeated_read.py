"""Repeated reads: the database is asked again after each commit, by any process, and not without one."""

import os
import time
from pathlib import Path

from sqlalchemy import text

from api.db.database import Connection, Database, create_database, default_url
from api.db.repeated_read import RepeatedRead

SETTLED = 20  # seconds


def age(file: Path) -> None:
    """Let the files of the database be written some time ago."""
    for each in file.parent.glob(f"{file.name}*"):
        changed = each.stat().st_mtime_ns - SETTLED * 10**9
        os.utime(each, ns=(changed, changed))


def test_the_database_is_asked_again_only_after_a_commit(tmp_path: Path) -> None:
    create_database(default_url(tmp_path))
    database, other = Database(default_url(tmp_path)), Database(default_url(tmp_path))
    with other.writing() as connection:
        connection.execute(text("CREATE TABLE numbers (number INTEGER)"))
    asked = list[float]()

    def read(connection: Connection) -> int:
        asked.append(time.monotonic())
        found: int = connection.execute(text("SELECT count(*) FROM numbers")).scalar_one()
        return found

    repeated, file = RepeatedRead(database, read), tmp_path / "waypost.db"
    assert [repeated.get() for _ in range(3)] == [0, 0, 0]
    assert len(asked) == 3, "a file that was just written may change again without another stamp"
    age(file)
    assert [repeated.get() for _ in range(3)] == [0, 0, 0]
    assert len(asked) == 4
    for number in (1, 2):
        with other.writing() as connection:
            connection.execute(text("INSERT INTO numbers VALUES (1)"))
        assert repeated.get() == number
        age(file)
        assert repeated.get() == number
    other.close()
    database.close()
