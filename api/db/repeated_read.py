"""A read that is repeated all the time: the database is asked again only once it may have changed."""

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from api.db.database import Connection, Database

T = TypeVar("T")

# A commit whose last write takes longer than a stamp is distrusted shows after this time.
_LONGEST_SECONDS = 60.0


class RepeatedRead(Generic[T]):
    """The last result of a read of one worker. Its result must not depend on the time. Not for several threads at once."""

    def __init__(self, database: Database, read: Callable[[Connection], T]) -> None:
        self._database = database
        self._read = read
        self._known: tuple[object, T] | None = None
        self._read_at = 0.0

    def get(self) -> T:
        """Return the result as of now; it blocks."""
        stamp, now = self._database.stamp(), time.monotonic()  # before the read: a later commit has another one
        is_young = now - self._read_at < _LONGEST_SECONDS
        if self._known is not None and stamp is not None and self._known[0] == stamp and is_young:
            return self._known[1]
        with self._database.reading() as connection:
            found = self._read(connection)
        self._known, self._read_at = (stamp, found), now
        return found
