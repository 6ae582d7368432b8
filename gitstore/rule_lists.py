"""The rules of a snapshot's files as lists that may be changed, and the least edit of the files that does it."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from content.diff import Change, diff
from content.record import Page, Record
from content.vocabulary import Kind
from gitstore.dump import new_file
from gitstore.layout import BlobId
from gitstore.rewrite import rewrite
from gitstore.snapshot import Snapshot, body_path

Place = tuple[Kind, str]
"""A kind and the path of a file, relative to the project's folder."""
ReadBlob = Callable[[BlobId], bytes]


class RuleLists:
    """Holds what becomes of the files; `read` gives the records of one as they stand now."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._files = {(kind, file.path): file for kind in Kind for file in snapshot.rule_files[kind]}
        self._wanted: dict[Place, list[Record]] = {}
        self._bodies: dict[str, bytes | None] = {}

    def read(self, kind: Kind, path: str) -> list[Record]:
        """The records of a file, those of a file that is not there being none; the list is the caller's."""
        place = (kind, path)
        return list(self._wanted[place]) if place in self._wanted else self._original(place)

    def write(self, kind: Kind, path: str, records: Iterable[Record]) -> None:
        """Say what a file shall hold."""
        self._wanted[kind, path] = list(records)

    def write_body(self, path: str, text: str) -> None:
        """Say what the file with the content of a page shall hold."""
        if self._snapshot.bodies.get(path) != text:
            self._bodies[path] = text.encode()

    def remove_unnamed(self, paths: Iterable[str]) -> None:
        """Remove the contents among these that no page names any more."""
        wanted = {path for path in paths if path in self._snapshot.bodies and path not in self._bodies}
        self._bodies |= dict.fromkeys(wanted - self._named()) if wanted else {}

    @property
    def changed(self) -> Mapping[Place, Sequence[Record]]:
        """What the files hold that are not as they were."""
        return {place: records for place, records in self._wanted.items() if records != self._original(place)}

    @property
    def bodies(self) -> Mapping[str, bytes | None]:
        """The contents of pages that change, None for one that goes."""
        return self._bodies

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

    def dump(self, read_blob: ReadBlob) -> dict[str, bytes | None]:
        """The new bytes of every file that changes."""
        lists = {place[1]: self._dump(place, records, read_blob) for place, records in self.changed.items()}
        return {**lists, **self._bodies}

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

    def _named(self) -> set[str]:
        places = {place for place in (*self._files, *self._wanted) if place[0] is Kind.PAGES}
        return set(bodies_of((path, record) for kind, path in places for record in self.read(kind, path)))


def bodies_of(placed: Iterable[tuple[str, Record | None]]) -> list[str]:
    """The paths of the contents that pages name; each comes with the path of the file that it stands in."""
    pages = ((path, record) for path, record in placed if isinstance(record, Page) and record.content_file)
    return [body_path(path, page.content_file) for path, page in pages]
