"""The upgrade of a database of an older program, by packaged Alembic scripts.

`schema` imports this only for such a database: Alembic and the scripts would take a third of the time of a start.
"""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from api.db.errors import StateBroken

_SCRIPTS = Path(__file__).with_name("migrations")


def upgrade(connection: Connection, found: str) -> None:
    """Upgrade from a revision. Raises StateBroken for a newer program's revision."""
    config = configure()
    if found not in known_revisions():
        raise StateBroken(f"The database is at revision {found} of a newer Waypost. Run that version.")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def known_revisions() -> set[str]:
    """Return the revisions of this program."""
    return {script.revision for script in ScriptDirectory.from_config(configure()).walk_revisions()}


def configure() -> Config:
    """Return Alembic's configuration."""
    config = Config()
    # Alembic 1.20 gives values to a ConfigParser, which interpolates `%`, and warns if `path_separator` is not set:
    # https://alembic.sqlalchemy.org/en/latest/api/config.html
    config.set_main_option("script_location", str(_SCRIPTS).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
