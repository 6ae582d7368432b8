"""Bringing the database to the tables of this program: packaged Alembic migrations, one process at a time."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from api.state.database import Database
from api.state.errors import StateBroken
from api.state.lock import held

_SCRIPTS = Path(__file__).with_name("migrations")
_ADVISORY_LOCK = 0x57617970_6F7374  # "Waypost", for nodes that share one PostgreSQL


def migrate(database: Database, lock: Path) -> None:
    """Bring the tables up to date, all or nothing; quick where they are.

    Raises StateBroken where the database was written by a newer program.
    """
    with held(lock), database.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SET LOCAL lock_timeout = 0"))  # another node's migration may take its time
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ADVISORY_LOCK})
        _upgrade(connection)


def newest_revision() -> str:
    """The revision that this program's tables are at."""
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


def _upgrade(connection: Connection) -> None:
    scripts = ScriptDirectory.from_config(_config())
    found = MigrationContext.configure(connection).get_current_revision()
    if found == scripts.get_current_head():
        return
    if found is not None and found not in {script.revision for script in scripts.walk_revisions()}:
        raise StateBroken(f"The database is at revision {found}, which a newer Waypost has made; run that one.")
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
