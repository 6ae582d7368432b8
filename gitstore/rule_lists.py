"""The rules of a snapshot's files as lists that may be changed, and the least edit of the files that does it."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property

from content.diff import Change, diff
from content.record import Record
from content.vocabulary import Kind
from gitstore.content_files import ContentFiles, Settled
from gitstore.dump import new_file
from gitstore.layout import BlobId
from gitstore.rewrite import rewrite
from gitstore.snapshot import Snapshot

Place = tuple[Kind, str]
"""A kind and the path of a file, relative to the project's folder."""
ReadBlob = Callable[[BlobId], bytes]


class RuleLists:
    """Holds what becomes of the files; `read` gives the records of one as they stand now.

    Records may come from the snapshot `beside`, too. Where pages disagree on a file, those at the paths of `first` keep it.
    """

    def __init__(self, snapshot: Snapshot, beside: Snapshot | None = None, first: Collection[str] = ()) -> None:
        self._snapshot = snapshot
        self._known = {*snapshot.bodies, *(beside.bodies if beside else ())}
        self._first = frozenset(first)
        self._files = {(kind, file.path): file for kind in Kind for file in snapshot.rule_files[kind]}
        self._wanted: dict[Place, list[Record]] = {}

    def read(self, kind: Kind, path: str) -> list[Record]:
        """The records of a file, those of a file that is not there being none; the list is the caller's."""
        place = (kind, path)
        return list(self._wanted[place]) if place in self._wanted else self._original(place)

    def write(self, kind: Kind, path: str, records: Iterable[Record]) -> None:
        """Say what a file shall hold."""
        self._wanted[kind, path] = list(records)
        self.__dict__.pop("_settled", None)

    @property
    def changed(self) -> Mapping[Place, Sequence[Record]]:
        """What the files hold that are not as they were, each page's content where it is to be written."""
        pages = {(Kind.PAGES, path): records for path, records in self._settled.lists.items()}
        held = {**self._wanted, **pages}
        return {place: records for place, records in held.items() if records != self._original(place)}

    @cached_property
    def _settled(self) -> Settled:
        after = {path: records for (kind, path), records in self._wanted.items() if kind is Kind.PAGES}
        if self._first:  # who has to leave a file may stand in any list
            after = {
                **{path: self._original((kind, path)) for kind, path in self._files if kind is Kind.PAGES},
                **after,
            }
        before = {path: self._original((Kind.PAGES, path)) for path in after}
        return ContentFiles(self._snapshot, before, after, self._known, self._first).settle()

    @property
    def changes(self) -> list[Change]:
        """What became of the records, one by one."""
        places = list(self._wanted)
        found = []
        for kind in Kind:
            own = [place for place in places if place[0] is kind]
            old = {record.identity: record for place in own for record in self._original(place)}
            new = {record.identity: record for place in own for record in self._wanted[place]}
            found += diff(kind, old, new)
        return found

    def _with_content_files(self) -> list[Place]:
        """The files with a page that names a file for its content."""
        return [
            place for place, file in self._files.items() if any("file" in each for each in file.part.extras.values())
        ]

    def dump(self, read_blob: ReadBlob) -> dict[str, bytes | None]:
        """The new bytes of every file that changes."""
        lists = {place[1]: self._dump(place, records, read_blob) for place, records in self.changed.items()}
        return {**lists, **self._settled.bodies}

    def text(self, place: Place, read_blob: ReadBlob) -> bytes | None:
        """The bytes of a file as it stands in the snapshot."""
        file = self._files.get(place)
        return read_blob(file.blob) if file else None

    def _dump(self, place: Place, records: Sequence[Record], read_blob: ReadBlob) -> bytes:
        data = self.text(place, read_blob)
        if data is None:
            return new_file(place[0], records)
        return rewrite(data, self._snapshot.full_path(place[1]), records)

    def _original(self, place: Place) -> list[Record]:
        file = self._files.get(place)
        return [self._snapshot.whole(file, record) for record in file.part.records] if file else []
