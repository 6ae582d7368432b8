"""The audit trail as those who may read it ask for it. It blocks: call it in threads."""

from dataclasses import dataclass

from api.state.audit import Entry, Wanted, list_entries
from api.state.database import Database


@dataclass(frozen=True, slots=True)
class Trail:
    """The trail of the whole service."""

    database: Database

    def window(self, wanted: Wanted, limit: int, offset: int) -> tuple[list[Entry], int]:
        """A window of the lines that are wanted, newest first, and how many there are."""
        with self.database.reading() as connection:
            return list_entries(connection, limit, offset, wanted)
