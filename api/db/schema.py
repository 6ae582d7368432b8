"""Migration of the database to the tables of this program, with packaged Alembic scripts, one process at a time."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from api.db.database import Database
from api.db.errors import StateBroken
from gitstore.file_lock import hold_lock_file

_SCRIPTS = Path(__file__).with_name("migrations")
_ADVISORY_LOCK = 0x57617970_6F7374  # "Waypost", for nodes that share one PostgreSQL


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
    scripts = ScriptDirectory.from_config(_config())
    found = MigrationContext.configure(connection).get_current_revision()
    if found == scripts.get_current_head():
        return
    if found is not None and found not in {script.revision for script in scripts.walk_revisions()}:
        raise StateBroken(f"The database is at revision {found} of a newer Waypost. Run that version.")
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _config() -> Config:
    config = Config()
    # Alembic 1.20 gives values to a ConfigParser, which interpolates `%`, and warns if `path_separator` is not set:
    # https://alembic.sqlalchemy.org/en/latest/api/config.html
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
