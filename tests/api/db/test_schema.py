"""Creation and migration of real SQLite files: complete or not at all, once, and to the same tables as those of the program."""

import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from threading import Thread

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import inspect, select, text

from api.db.agents.agents import list_agents, minute_of
from api.db.agents.inactive_agents import active_again, newly_silent
from api.db.database import Database, create_database, default_url
from api.db.errors import StateBroken
from api.db.schema import NEWEST_REVISION, migrate
from api.db.state_store import open_state_store
from api.db.tables import agents, metadata
from api.db.upgrade import configure
from gitstore.file_lock import hold_lock_file
from tests.api.db.described_schema import describe_schema
from tests.api.db.migrations import newest_migration


def opened(folder: Path) -> int:
    """Return the number of tables after a process has opened the state."""
    state = open_state_store(folder)
    with state.database.reading() as connection:
        found = len(inspect(connection).get_table_names())
    state.close()
    return found


def table_names(database: Database) -> set[str]:
    with database.reading() as connection:
        return set(inspect(connection).get_table_names())


def migrated_to(folder: Path, revision: str) -> Database:
    """Return a database in the state that an older program left."""
    create_database(default_url(folder))  # and its folder
    database, config = Database(default_url(folder)), configure()
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    return database


def test_the_newest_migration_makes_the_tables_of_the_program(tmp_path: Path) -> None:
    with migrated_to(tmp_path, "head").reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        assert MigrationContext.configure(connection).get_current_revision() == newest_migration() == NEWEST_REVISION


def test_a_new_database_has_what_all_migrations_make(tmp_path: Path) -> None:
    """The tables, with their columns in the same order, the indexes and the first rows."""
    state = open_state_store(tmp_path / "new")
    with state.database.reading() as connection, migrated_to(tmp_path / "old", "head").reading() as migrated:
        found = describe_schema(connection)
        assert found == describe_schema(migrated)
    assert "row of generation (1, 1)" in found
    assert f"row of alembic_version ('{NEWEST_REVISION}',)" in found


def test_a_new_or_current_database_is_opened_without_alembic_and_without_what_postgresql_needs(tmp_path: Path) -> None:
    """Guard: Alembic took a third of the time of a start, and its scripts ten times as long as the creation of the tables."""
    code = "import sys, pathlib; from api.app.services import open_services; from api.db.state_store import open_state_store"
    code += "; open_state_store(pathlib.Path(sys.argv[1]))"
    code += "; print({'alembic', 'sqlalchemy.dialects.postgresql'} & set(sys.modules) or 'none')"
    for _ in ("new", "current"):
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
        assert done.stdout == "none\n"


def test_processes_that_start_at_once_migrate_once(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4, get_context("spawn")) as pool:
        found = list(pool.map(opened, [tmp_path] * 8))
    assert found == [len(metadata.tables) + 1] * 8


def test_opening_again_keeps_what_is_there(tmp_path: Path) -> None:
    state = open_state_store(tmp_path)
    with state.changing():
        pass
    again = open_state_store(tmp_path)
    with again.database.reading() as connection:
        assert connection.execute(text("SELECT number FROM generation")).scalar_one() == 2


def test_a_start_waits_for_the_migration_of_another_process_however_long_it_takes(tmp_path: Path) -> None:
    """The wait is longer than that of a transaction, for a large table takes its time."""
    create_database(default_url(tmp_path))
    database = Database(default_url(tmp_path), lock_timeout=0.05)
    starting = Thread(target=migrate, args=(database, tmp_path / "lock"), daemon=True)
    with hold_lock_file(tmp_path / "lock"), Database(default_url(tmp_path)).writing():
        starting.start()
        starting.join(0.3)
        assert starting.is_alive()
    starting.join(10)
    assert table_names(database) == {*metadata.tables, "alembic_version"}


def test_tables_of_another_program_stay_as_they_are(tmp_path: Path) -> None:
    create_database(default_url(tmp_path))
    with Database(default_url(tmp_path)).writing() as connection:
        connection.execute(text("CREATE TABLE other (kept INTEGER)"))
        connection.execute(text("INSERT INTO other VALUES (7)"))
    state = open_state_store(tmp_path)
    assert table_names(state.database) == {*metadata.tables, "alembic_version", "other"}
    with state.database.reading() as connection:
        assert connection.execute(text("SELECT kept FROM other")).scalar_one() == 7


def test_tables_without_a_revision_are_not_taken_for_those_of_the_program(tmp_path: Path) -> None:
    state = open_state_store(tmp_path)
    with state.database.writing() as connection:
        connection.execute(text("DELETE FROM alembic_version"))
    with pytest.raises(StateBroken):
        open_state_store(tmp_path)
    with state.database.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM alembic_version")).scalar_one() == 0


def test_a_creation_that_fails_leaves_nothing_and_works_once_the_reason_is_gone(tmp_path: Path) -> None:
    create_database(default_url(tmp_path))
    database = Database(default_url(tmp_path))
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE audit (in_the_way INTEGER)"))
    with pytest.raises(StateBroken):
        migrate(database, tmp_path / "lock")
    assert table_names(database) == {"audit"}
    with database.writing() as connection:
        connection.execute(text("DROP TABLE audit"))
    migrate(database, tmp_path / "lock")
    assert table_names(database) == {*metadata.tables, "alembic_version"}


def test_a_database_of_a_newer_program_is_refused_with_a_message(tmp_path: Path) -> None:
    state = open_state_store(tmp_path)
    with state.database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StateBroken, match="9999 of a newer Waypost"):
        open_state_store(tmp_path)
    assert table_names(state.database) == {*metadata.tables, "alembic_version"}


def test_the_path_of_the_data_may_hold_any_sign(tmp_path: Path) -> None:
    folder = tmp_path / "100% odd, really: #?"
    assert opened(folder) == len(metadata.tables) + 1
    assert (folder / "waypost.db").stat().st_size > 0


def test_agents_that_reported_before_it_was_noted_count_from_when_they_were_last_heard_of(tmp_path: Path) -> None:
    database = migrated_to(tmp_path, "0001")
    row = "INSERT INTO agents (namespace, project, name, type, publish_number, status, created_at, last_seen_at) VALUES"
    rows = (
        "'fine', 'default', 3, 'success'",
        "'plain', 'default', 3, NULL",
        "'failing', 'default', 3, 'error'",
        "'odd', 'default', NULL, NULL",
    )
    with database.writing() as connection:
        for values in rows:
            connection.execute(text(f"{row} ('acme', 'shop', {values}, '2026-11-20 10:00:00', '2026-11-20 11:00:00')"))
    migrate(database, tmp_path / "lock")
    with database.reading() as connection:
        found = {agent.name: agent.loaded_at for agent in list_agents(connection, "acme", "shop", 10, 0)}
    seen = datetime(2026, 11, 20, 11, tzinfo=UTC)
    assert found == {"fine": seen, "plain": seen, "failing": None, "odd": None}


def test_agents_that_were_reported_silent_stay_reported_and_those_that_came_back_recover(tmp_path: Path) -> None:
    database = migrated_to(tmp_path, "0008")
    row = "INSERT INTO agents (namespace, project, name, type, created_at, last_seen_at) VALUES ('acme', 'shop'"
    reported = "INSERT INTO silent_agents (namespace, project, name, at) VALUES ('acme', 'shop'"
    with database.writing() as connection:
        for name, minute in (("silent", 10), ("back", 30), ("new", 10)):
            connection.execute(
                text(f"{row}, '{name}', 'default', '2026-11-20 10:00:00', '2026-11-20 10:{minute}:00.500000')")
            )
        for name in ("silent", "back", "gone"):
            connection.execute(text(f"{reported}, '{name}', '2026-11-20 10:20:00')"))
    migrate(database, tmp_path / "lock")
    seen = datetime(2026, 11, 20, 10, 10, 0, 500_000, UTC)
    with database.writing() as connection:
        rows = connection.execute(select(agents.c.name, agents.c.seen_minute))
        minutes = {row.name: row.seen_minute for row in rows}
        assert minutes == {name: minute_of(seen) + more for name, more in (("silent", 0), ("back", 20), ("new", 0))}
        cutoff = datetime(2026, 11, 20, 10, 15, tzinfo=UTC)
        assert [row.name for row in connection.execute(newly_silent(cutoff))] == ["new"]
        assert [row.name for row in connection.execute(active_again())] == ["back"]
