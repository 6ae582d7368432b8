"""The state of a service as a whole: its database, and word to all workers when identities change."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from api import logs
from api.state.database import Connection, Database, default_url
from api.state.generation import GenerationFile, advance_generation
from api.state.schema import migrate

_log = logs.logger("state")


@dataclass(frozen=True, slots=True)
class State:
    """The database, and the file that tells the workers of a machine when identities changed."""

    database: Database
    generation: GenerationFile

    @contextmanager
    def changing(self) -> Iterator[Connection]:
        """A writing transaction that changes who may do what; after it no worker answers from what was before."""
        with self.database.writing() as connection:
            advance_generation(connection)
            yield connection
        try:
            self.generation.bump()
        except OSError as ex:  # the change is made; workers hear of it from the database within a second
            _log.warning("generation_not_bumped", exc_info=ex)

    def close(self) -> None:
        """Close the connections of this process."""
        self.database.close()


def open_state(data: Path, url: str = "") -> State:
    """The state below a data directory, with its tables up to date; `url` names another database than SQLite there."""
    data.mkdir(parents=True, exist_ok=True)
    database = Database(url or default_url(data))
    migrate(database, data / "migrate.lock")
    return State(database, GenerationFile(data / "generation"))
