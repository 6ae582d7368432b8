"""The objects that new objects name: on disk while a pack is read, since they may be many more than the objects."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Self

from gitstore.errors import InvalidPush
from gitstore.wire.push.object_rules import NAMES, Reference

_RECORD = 21  # bytes: the type and the id
_REMEMBERED = 200_000  # references, so that one that is repeated soon is written once


class References:
    """A list of references in a file of a folder, for one writer, then for one reader."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "references"
        self._file = self._path.open("xb+")
        self._recent = set[bytes]()

    def __enter__(self) -> Self:
        """Return the list."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the file."""
        with suppress(OSError):  # what was written last does not fit on a full disk, which is an error already
            self._file.close()
        with suppress(OSError):
            self._path.unlink()

    def add(self, reference: Reference) -> None:
        """Add a reference."""
        record = bytes((reference.kind,)) + reference.id
        if record not in self._recent:
            if len(self._recent) >= _REMEMBERED:
                self._recent.clear()
            self._recent.add(record)
            self._file.write(record)

    def outside(self, kinds: dict[bytes, int]) -> Iterator[Reference]:
        """Yield the references to other objects than these. Raises InvalidPush for one to an object of another type."""
        self._recent.clear()
        self._file.seek(0)
        while record := self._file.read(_RECORD):
            kind, object_id = record[0], record[1:]
            found = kinds.get(object_id)
            if found is not None:
                require_kind(object_id, kind, found)
            elif record not in self._recent:
                if len(self._recent) >= _REMEMBERED:
                    self._recent.clear()
                self._recent.add(record)
                yield Reference(kind, object_id)


def require_kind(object_id: bytes, wanted: int, found: int) -> None:
    """Raise InvalidPush for an object of another type than the one that a reference to it says."""
    if wanted != found:
        raise InvalidPush(f"the object {object_id.hex()} is a {NAMES[found]}, and is used as a {NAMES[wanted]}")
