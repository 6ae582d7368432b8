"""A snapshot being edited: edits go in, the files that they touch come out, everything else stays as it is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from posixpath import dirname, relpath

from content.diff import Change, diff
from content.problem import Problem, errors
from content.record import Page, Record
from content.record_rules import record_problems
from content.vocabulary import Kind
from gitstore.content_files import ContentFiles, Settled
from gitstore.dump import Layout, new_file
from gitstore.edits import Delete, Edit, Put, etag_of
from gitstore.errors import BadRequest, DuplicateIdentity, DuplicatePath, Invalid, NotFound, StaleItem, UnknownRecord
from gitstore.layout import ROLE_OF_KIND, RULES_PER_FILE, BlobId, first_file, is_safe_name, numbered_file, role_of
from gitstore.page_bodies import is_in_reach
from gitstore.part import id_number
from gitstore.rewrite import rewrite
from gitstore.snapshot import RuleFile, Snapshot, body_path

Files = Mapping[str, bytes | None]
_GONE = ""


class Workspace:
    """Takes edits one after another; `files` and `changes` say what became of them."""

    def __init__(self, snapshot: Snapshot, read_blob: Callable[[BlobId], bytes], layout: Layout = "block") -> None:
        self._snapshot = snapshot
        self._read_blob = read_blob
        self._layout = layout
        self._original = {(kind, file.path): file for kind in Kind for file in snapshot.rule_files[kind]}
        self._open: dict[tuple[Kind, str], _OpenFile] = {}
        self._moved: dict[tuple[Kind, int], str] = {}
        self._room: dict[Kind, str] = {}

    def apply(self, edits: Iterable[Edit]) -> None:
        """Make all the edits, in order; what is raised leaves the workspace unusable."""
        for place, edit in enumerate(edits):
            try:
                self._put(edit) if isinstance(edit, Put) else self._delete(edit)
            except NotFound as ex:
                raise UnknownRecord(str(ex), place) from ex

    @property
    def files(self) -> Files:
        """The new bytes of every file that changed, by path in the project; None for one that is gone."""
        settled = self._settled()
        pages = {(Kind.PAGES, path): records for path, records in settled.lists.items()}
        held = {place: pages.get(place, file.records) for place, file in self._open.items()}
        return {**{place[1]: self._dump(place, records) for place, records in held.items()}, **settled.bodies}

    @property
    def changes(self) -> list[Change]:
        """What the edits changed, record by record."""
        return [change for kind in Kind for change in diff(kind, self._before(kind), self._after(kind))]

    def _put(self, edit: Put) -> None:
        refuse_wrong(edit.record)
        wanted = edit.replaces or edit.record.id
        path = self._locate(edit.kind, wanted)
        if path and edit.create:
            raise _duplicate(edit.kind, f"There is already a {_noun(edit.kind)} for {edit.record.identity!r}.")
        if not path and edit.replaces:
            raise NotFound(f"There is no {_noun(edit.kind)} with the id {edit.replaces[:40]!r} in this draft.")
        if edit.replaces and edit.record.id != edit.replaces and self._locate(edit.kind, edit.record.id):
            raise _duplicate(edit.kind, f"Another {_noun(edit.kind)} is for {edit.record.identity!r} already.")
        if not path:
            self._append(edit, edit.record)
        elif edit.file and edit.file != path:
            self._move(edit, path, wanted)
        else:
            self._replace(edit, path, wanted)

    def _replace(self, edit: Put, path: str, wanted: str) -> None:
        file = self._opened(edit.kind, path)
        at = file.ids.index(int(wanted, 16))
        before = file.records[at]
        _must_hold(edit.etag, before)
        record = self._with_body(path, path, before, edit.record)
        file.put(at, record)
        self._moved[edit.kind, int(wanted, 16)] = _GONE
        self._moved[edit.kind, file.ids[at]] = path

    def _move(self, edit: Put, path: str, wanted: str) -> None:
        """Take a record out of its file and put it at the end of another; a page's content file stays where it is."""
        file = self._opened(edit.kind, path)
        before = file.remove(file.ids.index(int(wanted, 16)))
        _must_hold(edit.etag, before)
        self._moved[edit.kind, int(wanted, 16)] = _GONE
        self._append(edit, self._with_body(path, edit.file, before, edit.record))

    def _append(self, edit: Put, record: Record) -> None:
        path = self._file_for_new(edit.kind, edit.file)
        file = self._opened(edit.kind, path)
        file.put(len(file.ids), record)
        self._moved[edit.kind, file.ids[-1]] = path

    def _delete(self, edit: Delete) -> None:
        path = self._locate(edit.kind, edit.id)
        if not path:
            raise NotFound(f"There is no {_noun(edit.kind)} with the id {edit.id[:40]!r} in this draft.")
        file = self._opened(edit.kind, path)
        record = file.remove(file.ids.index(int(edit.id, 16)))
        _must_hold(edit.etag, record)
        self._moved[edit.kind, int(edit.id, 16)] = _GONE

    def _with_body(self, path: str, to: str, before: Record, record: Record) -> Record:
        """A page whose content stands in a file keeps it there when it goes from `path` to `to`, if it can name it."""
        if not (isinstance(before, Page) and isinstance(record, Page) and before.content_file):
            return record
        body = body_path(path, before.content_file)
        if record.content_file or not is_in_reach(to, body):
            return record
        named = before.content_file if path == to else relpath(body, dirname(to) or ".")
        return replace(record, content_file=named)

    def _locate(self, kind: Kind, record_id: str) -> str:
        """The path of the file that holds a record; empty where none does."""
        wanted = id_number(record_id)
        if wanted is None:
            return ""
        moved = self._moved.get((kind, wanted))
        if moved is not None:
            return moved
        return next((file.path for file in self._snapshot.rule_files[kind] if wanted in file.part.id_set), "")

    def _file_for_new(self, kind: Kind, named: str) -> str:
        if named:
            if role_of(named) is not ROLE_OF_KIND[kind] or not all(map(is_safe_name, named.split("/"))):
                raise BadRequest(f"{kind.capitalize()} stand in {kind}.yaml or {kind}/….yaml, not in {named[:100]!r}.")
            return named
        last = self._room.get(kind)
        if last is None or self._length(kind, last) >= RULES_PER_FILE:
            last = self._room[kind] = self._find_room(kind)
        return last

    def _find_room(self, kind: Kind) -> str:
        """The last file with room for one more, else the name of a new one."""
        paths = sorted({path for of_kind, path in (*self._original, *self._open) if of_kind is kind})
        room = (path for path in reversed(paths) if self._length(kind, path) < RULES_PER_FILE)
        return next(room, None) or _next_file(kind, paths)

    def _length(self, kind: Kind, path: str) -> int:
        opened = self._open.get((kind, path))
        return len(opened.ids) if opened else len(self._original[kind, path].part)

    def _opened(self, kind: Kind, path: str) -> "_OpenFile":
        found = self._open.get((kind, path))
        if found is None:
            original = self._original.get((kind, path))
            if original:
                _must_be_readable(self._snapshot, original, kind)
            records = [self._snapshot.whole(original, each) for each in original.part.records] if original else []
            found = self._open[kind, path] = _OpenFile(records)
        return found

    def _settled(self) -> Settled:
        pages = {path: file for (kind, path), file in self._open.items() if kind is Kind.PAGES}
        before = {path: file.original for path, file in pages.items()}
        return ContentFiles(self._snapshot, before, {path: file.records for path, file in pages.items()}).settle()

    def _dump(self, place: tuple[Kind, str], records: Sequence[Record]) -> bytes:
        kind, path = place
        original = self._original.get(place)
        if original is None:
            return new_file(kind, records, self._layout)
        data, full = self._read_blob(original.blob), self._snapshot.full_path(path)
        return rewrite(data, full, records, self._layout, self._open[place].renamed)

    def _before(self, kind: Kind) -> dict[str, Record]:
        files = ((self._original.get(key), file) for key, file in self._open.items() if key[0] is kind)
        return {record.identity: record for original, file in files if original for record in file.original}

    def _after(self, kind: Kind) -> dict[str, Record]:
        files = (file for (of_kind, _), file in self._open.items() if of_kind is kind)
        return {record.identity: record for file in files for record in file.records}


class _OpenFile:
    """The records of a file that an edit touches, with their ids beside them for a quick look-up."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.original = tuple(records)
        self.records = list(records)
        self.ids = [int(record.id, 16) for record in records]
        self.renamed: dict[str, str] = {}
        """The identity that a rule has in the file, by the one that it has got."""

    def put(self, at: int, record: Record) -> None:
        for before in self.records[at : at + 1]:
            if before.identity != record.identity:
                self.renamed[record.identity] = self.renamed.pop(before.identity, before.identity)
        self.records[at : at + 1] = [record]
        self.ids[at : at + 1] = [int(record.id, 16)]

    def remove(self, at: int) -> Record:
        del self.ids[at]
        self.renamed.pop(self.records[at].identity, None)
        return self.records.pop(at)


def refuse_wrong(record: Record) -> None:
    """Raise Invalid where a record is wrong in itself."""
    found = errors(record_problems(record))
    if found:
        raise Invalid(f"{found[0].message}", found)


def _must_hold(etag: str, record: Record) -> None:
    if etag and etag != etag_of(record):
        raise StaleItem(f"{record.identity!r} was changed meanwhile. Read it again, then repeat your change.")


def _must_be_readable(snapshot: Snapshot, file: RuleFile, kind: Kind) -> None:
    found: list[Problem] = errors(list(file.part.problems))
    if not found and file.part.kind not in {kind, None}:
        found = [Problem("wrong_kind", f"This file must hold `{kind}:`, not `{file.part.kind}:`.", line=1)]
    if found:
        path = snapshot.full_path(file.path)
        placed = [replace(problem, file=path) for problem in found]
        raise Invalid(f"{path} has to be mended in Git before it can be edited here.", placed)


def _next_file(kind: Kind, paths: Sequence[str]) -> str:
    if not paths:
        return first_file(kind)
    numbers = [int(stem) for path in paths if (stem := path.removeprefix(f"{kind}/").removesuffix(".yaml")).isdecimal()]
    return numbered_file(kind, max(numbers, default=0) + 1)


def _duplicate(kind: Kind, message: str) -> DuplicateIdentity:
    return DuplicateIdentity(message) if kind is Kind.REDIRECTS else DuplicatePath(message)


def _noun(kind: Kind) -> str:
    return kind.removesuffix("s")
