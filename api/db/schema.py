"""The tables of the database, one process at a time: created in a new one, and brought up to date in an older one."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from api.db.audit_chain import start_chain
from api.db.database import Database
from api.db.generation import start_generation
from api.db.tables import metadata
from gitstore.file_lock import hold_lock_file

NEWEST_REVISION = "0027"  # a test compares it with the scripts

_ADVISORY_LOCK = 0x57617970_6F7374  # "Waypost", for nodes that share one PostgreSQL
# https://alembic.sqlalchemy.org/en/latest/api/runtime.html#alembic.runtime.environment.EnvironmentContext.configure.params.version_table
_VERSION_TABLE = "alembic_version"
_CREATE_VERSION_TABLE = f"""
CREATE TABLE IF NOT EXISTS {_VERSION_TABLE} (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT {_VERSION_TABLE}_pkc PRIMARY KEY (version_num)
)
"""  # as Alembic creates it


def migrate(database: Database, lock: Path) -> None:
    """Create the tables, or migrate them to the newest revision, all or nothing; fast if they are up to date.

    Raises StateBroken if a newer program has migrated the database.
    """
    with hold_lock_file(lock), database.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL lock_timeout = 0"))  # another node's migration may take long
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ADVISORY_LOCK})
        _migrate(connection)


def _migrate(connection: Connection) -> None:
    """Import Alembic only where it has something to do."""
    found = database_revision(connection)
    if found is None:
        _create_tables(connection)
    elif found != NEWEST_REVISION:
        from api.db.upgrade import upgrade  # noqa: PLC0415 - loads 60 modules that a current database needs not

        upgrade(connection, found)


def _create_tables(connection: Connection) -> None:
    """Create what all migrations together create, in a twelfth of their time; a test compares both.

    It fails where a table has one of the names: a table that is not at a known revision is not ours, and is not changed.
    Tables of other names stay beside ours.
    """
    metadata.create_all(connection, checkfirst=False)
    start_generation(connection)
    start_chain(connection)
    connection.execute(text(_CREATE_VERSION_TABLE))
    connection.execute(text(f"INSERT INTO {_VERSION_TABLE} VALUES (:newest)"), {"newest": NEWEST_REVISION})  # noqa: S608 - a constant


def database_revision(connection: Connection) -> str | None:
    """Return the revision of the database; None for one without tables."""
    if not inspect(connection).has_table(_VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalar()  # noqa: S608 - a constant
