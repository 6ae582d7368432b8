"""The number of the state of identities: who may do what. Every change of it moves a file and a row.

The file tells the workers of this machine at once, for one `stat` a request. The row is moved in the
transaction of the change itself; it tells other machines, and those who missed the file, a second later.
"""

import os
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, select, update

from api.state.tables import generation

_ROW = 1


class Stamp(NamedTuple):
    """What a `stat` of the file tells; two stamps differ if there was a change between them."""

    inode: int
    size: int


NO_STAMP = Stamp(0, 0)


class GenerationFile:
    """A file that grows by one byte with every change.

    Sizes only grow, so no change can hide in the resolution of a clock, and appending needs no lock.
    """

    def __init__(self, path: Path) -> None:
        self._path = str(path)

    def stamp(self) -> Stamp:
        """The present stamp; NO_STAMP while there was no change yet."""
        try:
            found = os.stat(self._path)  # noqa: PTH116 - asked for every request; pathlib takes twice as long
        except FileNotFoundError:
            return NO_STAMP
        return Stamp(found.st_ino, found.st_size)

    def bump(self) -> None:
        """Move the stamp."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        file = os.open(self._path, flags, 0o600)
        try:
            os.write(file, b".")
        finally:
            os.close(file)


def advance_generation(connection: Connection) -> None:
    """Move the number, in the transaction of a change."""
    connection.execute(update(generation).values(number=generation.c.number + 1))


def read_generation(connection: Connection) -> int:
    """The number of the state of identities, as this transaction sees it."""
    return int(connection.execute(select(generation.c.number).where(generation.c.id == _ROW)).scalar_one())
