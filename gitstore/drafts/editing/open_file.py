"""A file of rules that edits change, opened from a snapshot."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from content.records.record import Record
from content.records.vocabulary import Kind
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot
from gitstore.errors import Invalid


class OpenFile:
    """The records of a file that an edit touches, with their ids in parallel for fast lookup."""

    def __init__(self, records: Sequence[Record] = (), ids: Iterable[int] = ()) -> None:
        self.original = tuple(records)
        self.records = list(records)
        self.ids = list(ids)
        self.renamed: dict[str, str] = {}  # the identity of a rule in the file, by its new identity

    def extend(self, records: Sequence[Record]) -> None:
        """Append records."""
        self.records += records
        self.ids += [int(record.id, 16) for record in records]

    def put(self, at: int, record: Record) -> None:
        """Write a record at a position, or after the last one."""
        for before in self.records[at : at + 1]:
            if before.identity != record.identity:
                self.renamed[record.identity] = self.renamed.pop(before.identity, before.identity)
        self.records[at : at + 1] = [record]
        self.ids[at : at + 1] = [int(record.id, 16)]

    def remove(self, at: int) -> Record:
        """Remove the record at a position, and return it."""
        del self.ids[at]
        self.renamed.pop(self.records[at].identity, None)
        return self.records.pop(at)


def open_file(snapshot: Snapshot, file: CompiledFile, kind: Kind) -> OpenFile:
    """Open a file for edits of a kind; raises Invalid if it may have rules that cannot be read."""
    _require_readable(snapshot, file, kind)
    return OpenFile([snapshot.whole(file, each) for each in file.segment.records], file.segment.ids)


def _require_readable(snapshot: Snapshot, file: CompiledFile, kind: Kind) -> None:
    found = file.segment.hiding_problems_for(kind)
    if found:
        path = snapshot.full_path(file.path)
        placed = [replace(problem, file=path) for problem in found]
        raise Invalid(f"{path} has errors. Fix them in Git, then edit the file here.", placed)
