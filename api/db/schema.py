"""Migration of the database to the tables of this program, with packaged Alembic scripts, one process at a time."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from api.db.database import Database
from gitstore.file_lock import hold_lock_file

NEWEST_REVISION = "0024"  # a test compares it with the scripts

_ADVISORY_LOCK = 0x57617970_6F7374  # "Waypost", for nodes that share one PostgreSQL
# https://alembic.sqlalchemy.org/en/latest/api/runtime.html#alembic.runtime.environment.EnvironmentContext.configure.params.version_table
_VERSION_TABLE = "alembic_version"


def migrate(database: Database, lock: Path) -> None:
    """Migrate the tables to the newest revision, all or nothing; fast if they are up to date.

    Raises StateBroken if a newer program has migrated the database.
    """
    with hold_lock_file(lock), database.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL lock_timeout = 0"))  # another node's migration may take long
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ADVISORY_LOCK})
        _upgrade(connection)


def _upgrade(connection: Connection) -> None:
    """Import Alembic only where it has something to do."""
    found = database_revision(connection)
    if found != NEWEST_REVISION:
        from api.db.upgrade import upgrade  # noqa: PLC0415 - loads 60 modules that a current database needs not

        upgrade(connection, found)


def database_revision(connection: Connection) -> str | None:
    """Return the revision of the database; None for one without tables."""
    if not inspect(connection).has_table(_VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {_VERSION_TABLE}")).scalar()  # noqa: S608 - a constant
