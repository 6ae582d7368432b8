"""API tokens of the service in files of content, which a push or a fetch would show to every reader."""

from dataclasses import dataclass

from api.auth.api_token import digest, find_values
from api.db.accounts.tokens import find_live_hash
from api.db.database import Database
from api.db.timestamps import Clock

_MOST_TOKENS = 1_000  # of one file


@dataclass(frozen=True, slots=True)
class LeakedTokens:
    """The search for tokens that are valid now; pickled, it searches in another process."""

    database: Database
    clock: Clock

    def find(self, data: bytes) -> int | None:
        """Return the position of a valid token in a file, None without one."""
        places = dict[str, int]()
        for at, value in find_values(data):
            places.setdefault(digest(value), at)
            if len(places) > _MOST_TOKENS:
                break
        if not places:
            return None
        if len(places) > _MOST_TOKENS:  # too many to ask for
            return min(places.values())
        with self.database.reading() as connection:
            found = find_live_hash(connection, places.keys(), self.clock())
        return places[found] if found else None
