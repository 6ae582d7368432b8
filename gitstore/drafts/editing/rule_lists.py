"""The rules of a snapshot's files as lists that can be changed, and the smallest edit of the files for a change."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property

from content.changes.diff import Change, diff
from content.records.record import Record
from content.records.vocabulary import Kind
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.editing.content_files import ContentFiles, ContentPlan
from gitstore.layout import BlobId
from gitstore.yamlfiles.dump import new_file
from gitstore.yamlfiles.restored_file import ReadFile
from gitstore.yamlfiles.rewrite import RewrittenFile, rewrite_file

Place = tuple[Kind, str]  # a kind and the path of a file in the project
ReadBlob = Callable[[BlobId], bytes]


class RuleLists:
    """The new lists of files; `read` returns the current records of a file.

    Records may also come from the snapshot `beside`. Where pages disagree on a content file, those at the paths of
    `first` keep it.
    """

    def __init__(self, snapshot: Snapshot, beside: Snapshot | None = None, first: Collection[str] = ()) -> None:
        self._snapshot = snapshot
        self._known = {*snapshot.bodies, *(beside.bodies if beside else ())}
        self._first = frozenset(first)
        self._files = {(kind, file.path): file for kind in Kind for file in snapshot.rule_files[kind]}
        self._new_lists: dict[Place, list[Record]] = {}
        self.rewritten: dict[str, RewrittenFile] = {}

    def read(self, kind: Kind, path: str) -> list[Record]:
        """Return the records of a file, [] for a file that does not exist; the caller owns the list."""
        place = (kind, path)
        return list(self._new_lists[place]) if place in self._new_lists else self._original(place)

    def write(self, kind: Kind, path: str, records: Iterable[Record]) -> None:
        """Set the records of a file."""
        self._new_lists[kind, path] = list(records)
        self.__dict__.pop("_planned", None)

    @property
    def changed(self) -> Mapping[Place, Sequence[Record]]:
        """The records of the changed files, with the content of pages in its final place."""
        pages = {(Kind.PAGES, path): records for path, records in self._planned.lists.items()}
        held = {**self._new_lists, **pages}
        return {place: records for place, records in held.items() if records != self._original(place)}

    @cached_property
    def _planned(self) -> ContentPlan:
        after = {path: records for (kind, path), records in self._new_lists.items() if kind is Kind.PAGES}
        if self._first:  # a page that must give up its content file may be in any list
            after = {
                **{path: self._original((kind, path)) for kind, path in self._files if kind is Kind.PAGES},
                **after,
            }
        before = {path: self._original((Kind.PAGES, path)) for path in after}
        return ContentFiles(self._snapshot, before, after, self._known, self._first).plan()

    @property
    def changes(self) -> list[Change]:
        """The changes of records, one by one."""
        places = list(self._new_lists)
        found = []
        for kind in Kind:
            own = [place for place in places if place[0] is kind]
            old = {record.identity: record for place in own for record in self._original(place)}
            new = {record.identity: record for place in own for record in self._new_lists[place]}
            found += diff(kind, old, new)
        return found

    def dump(self, read_blob: ReadBlob) -> dict[str, bytes | None]:
        """Return the new bytes of every changed file; `rewritten` then has those of files that there were, as they read back."""
        lists = {place[1]: self._dump(place, records, read_blob) for place, records in self.changed.items()}
        return {**lists, **self._planned.bodies}

    def has(self, place: Place) -> bool:
        """Tell whether the snapshot has a file."""
        return place in self._files

    def file(self, place: Place, read_blob: ReadBlob) -> ReadFile | None:
        """Return a file as the snapshot has it."""
        file = self._files.get(place)
        return ReadFile(read_blob(file.blob), file.segment.rules) if file else None

    def _dump(self, place: Place, records: Sequence[Record], read_blob: ReadBlob) -> bytes:
        before = self.file(place, read_blob)
        if before is None:
            return new_file(place[0], records)
        found = rewrite_file(before.data, self._snapshot.full_path(place[1]), records, known=before.rules)
        self.rewritten[place[1]] = found._replace(before=self._files[place].blob)
        return found.data

    def _original(self, place: Place) -> list[Record]:
        file = self._files.get(place)
        return [self._snapshot.whole(file, record) for record in file.segment.records] if file else []
