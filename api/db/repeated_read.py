"""A read that is repeated all the time: the database is asked again only once it may have changed."""

from collections.abc import Callable
from typing import Generic, TypeVar

from api.db.database import Connection, Database

T = TypeVar("T")


class RepeatedRead(Generic[T]):
    """The last result of a read of one worker. Its result must not depend on the time. Not for several threads at once."""

    def __init__(self, database: Database, read: Callable[[Connection], T]) -> None:
        self._database = database
        self._read = read
        self._known: tuple[object, T] | None = None

    def get(self) -> T:
        """Return the result as of now; it blocks."""
        stamp = self._database.stamp()  # before the read: a later commit has another one
        if self._known is not None and stamp is not None and self._known[0] == stamp:
            return self._known[1]
        with self._database.reading() as connection:
            found = self._read(connection)
        self._known = stamp, found
        return found
