"""The files of rules that have a record with an id, found by an index of ids where there is one."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from gitstore.compiled.segments.key_table import POSITION_BITS, dump_table, find_hash
from gitstore.layout import BlobId

_FILES_PER_ID = 8  # so many files are searched in the time of one look-up in an index


class IdIndex:
    """The ids of many files: a table of the upper bits of each id, with the number of its file among `blobs`."""

    def __init__(self, table: Sequence[int], blobs: Sequence[BlobId]) -> None:
        self._table = table
        self._blobs = blobs

    def files_of(self, number: int) -> set[BlobId]:
        """Return the blobs that may have a record with an id."""
        return {self._blobs[at] for at in find_hash(self._table, number >> POSITION_BITS)}


def dump_index(files: Iterable[Sequence[int]]) -> bytes:
    """Return the table of an index of files, from the ids of each."""
    keep = -1 << POSITION_BITS
    return dump_table(number & keep | at for at, ids in enumerate(files) for number in ids)


class Searched(Protocol):
    """A file of rules that can be searched for an id."""

    @property
    def id_index(self) -> IdIndex | None:
        """The index that has its ids; None for none."""
        ...

    def place_of(self, number: int) -> int | None:
        """Return the position of the record with an id."""
        ...

    def has_any(self, ids: frozenset[int]) -> bool:
        """Tell whether a record has one of these ids."""
        ...


class FileFinder:
    """The files of one list in a state: finds those with an id, in the order of the list."""

    def __init__(self, files: Sequence[tuple[BlobId, Searched]]) -> None:
        self._files = [file for _, file in files]
        self._others = set[int]()
        self._places: dict[BlobId, tuple[int, ...]] = {}
        self._indexes: dict[int, IdIndex] = {}
        for at, (blob, file) in enumerate(files):
            self._add(at, blob, file)

    def _add(self, at: int, blob: BlobId, file: Searched) -> None:
        index = file.id_index
        if index is None:
            self._others.add(at)
        else:
            self._indexes[id(index)] = index
            self._places[blob] = (*self._places.get(blob, ()), at)

    @property
    def unindexed(self) -> Collection[int]:
        """The places of the files without an index."""
        return self._others

    def replaced(self, files: Mapping[int, tuple[BlobId, Searched]]) -> "FileFinder":
        """Return a finder with other files at some places; each hit is looked up, so those before need not be removed."""
        found = FileFinder(())
        found._files, found._others = list(self._files), self._others - files.keys()
        found._places, found._indexes = dict(self._places), dict(self._indexes)
        for at, (blob, file) in files.items():
            found._files[at] = file
            found._add(at, blob, file)
        return found

    def find(self, ids: Collection[int]) -> list[int]:
        """Return the places of the files that have a record with one of these ids."""
        wanted = frozenset(ids)
        if len(wanted) * len(self._indexes) * _FILES_PER_ID > len(self._places):
            return [at for at, file in enumerate(self._files) if file.has_any(wanted)] if wanted else []
        found = {at for at in self._others if self._files[at].has_any(wanted)} if wanted else set[int]()
        for number in wanted:
            found.update(at for at in self._candidates(number) if self._files[at].place_of(number) is not None)
        return sorted(found)

    def find_first(self, number: int) -> int | None:
        """Return the place of the first file that has a record with an id; None for none. An import asks for each row."""
        places = self._others if not self._indexes else {*self._others, *self._candidates(number)}
        return min((at for at in places if self._files[at].place_of(number) is not None), default=None)

    def _candidates(self, number: int) -> set[int]:
        blobs = set[BlobId]().union(*(index.files_of(number) for index in self._indexes.values()))
        return {at for blob in blobs for at in self._places.get(blob, ())}
