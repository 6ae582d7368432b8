"""The state of a service: its database, and the notification of all workers when identities change."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from api import logs
from api.db.database import Connection, Database, create_database, default_url
from api.db.generation import GenerationFile, advance_generation
from api.db.schema import migrate

_log = logs.logger("state")


class PossibleChange:
    """A write transaction that changes identities or permissions once `begin` is called: before, since this takes the first lock."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.has_begun = False

    def begin(self) -> None:
        """Advance the generation, once."""
        if not self.has_begun:
            advance_generation(self.connection)
            self.has_begun = True


@dataclass(frozen=True, slots=True)
class StateStore:
    """The database, and the file that notifies the workers of a machine of changed identities."""

    database: Database
    generation: GenerationFile

    @contextmanager
    def changing(self) -> Iterator[Connection]:
        """Open a write transaction that changes identities or permissions; after it no worker uses the earlier ones."""
        with self.database.writing() as connection:
            advance_generation(connection)
            yield connection
        self._bump()

    @contextmanager
    def perhaps_changing(self) -> Iterator["PossibleChange"]:
        """Open a write transaction that may find that it has to change identities or permissions."""
        with self.database.writing() as connection:
            change = PossibleChange(connection)
            yield change
        if change.has_begun:
            self._bump()

    def _bump(self) -> None:
        try:
            self.generation.bump()
        except OSError as ex:  # the change is committed; workers read it from the database within a second
            _log.warning("generation_not_bumped", exc_info=ex)

    def close(self) -> None:
        """Close the connections of this process."""
        self.database.close()


def open_state_store(data: Path, url: str = "", *, create: bool = True) -> StateStore:
    """Open the state in a data directory; `url` names another database than SQLite there.

    With `create`, create what is missing and migrate the tables; without, change nothing on disk.
    """
    if create:
        data.mkdir(parents=True, exist_ok=True)
        create_database(url or default_url(data))
    database = Database(url or default_url(data))
    generation = GenerationFile(data / "generation")
    if create:
        migrate(database, data / "migrate.lock")
        generation.create()
    return StateStore(database, generation)
