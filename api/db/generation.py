"""The generation number of identities and permissions. Every change of them changes a file and a row.

With the file, the workers of this machine detect the change at once, for one `stat` per request. The row is changed in
the same transaction; with it, other machines and workers that missed the file detect the change within a second.
"""

import os
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, insert, select, update

from api.db.tables import generation

_ROW = 1


class Stamp(NamedTuple):
    """The result of a `stat` of the file; two stamps differ if there was a change between them."""

    inode: int
    size: int


NO_STAMP = Stamp(0, 0)


class GenerationFile:
    """A file that grows by one byte with every change.

    Its size only grows, so unlike a modification time it does not depend on the resolution of a clock; appending needs
    no lock.
    """

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def stamp(self) -> Stamp:
        """Return the current stamp; NO_STAMP if the file is missing."""
        try:
            found = os.stat(self._path)  # noqa: PTH116 - called for every request; pathlib takes twice as long
        except FileNotFoundError:
            return NO_STAMP
        return Stamp(found.st_ino, found.st_size)

    def create(self) -> None:
        """Create the file if it is missing; `bump` does not, so that nothing is left in place of a lost directory."""
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))

    def bump(self) -> None:
        """Change the stamp."""
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            os.write(file, b".")
        finally:
            os.close(file)


def start_generation(connection: Connection) -> None:
    """Add the row to a new database."""
    connection.execute(insert(generation).values(id=_ROW, number=1))


def advance_generation(connection: Connection) -> None:
    """Increment the number, in the transaction of a change."""
    connection.execute(update(generation).values(number=generation.c.number + 1))


def lock_generation(connection: Connection) -> None:
    """Wait for changes that have begun, and keep others from beginning until this transaction ends; without a change.

    SQLite needs no lock: it has one writer at a time.
    """
    connection.execute(select(generation.c.number).where(generation.c.id == _ROW).with_for_update())


def read_generation(connection: Connection) -> int:
    """Return the generation number that this transaction sees."""
    return int(connection.execute(select(generation.c.number).where(generation.c.id == _ROW)).scalar_one())
