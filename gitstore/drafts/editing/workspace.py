"""A snapshot being edited: applies edits and returns the changed files; all other files stay unchanged."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from posixpath import dirname, relpath
from typing import NamedTuple

from content.changes.diff import Change, diff
from content.checks.pattern_budget import (
    CallBudget,
    CostlyRule,
    exceeds_project,
    is_pattern,
    pattern_cost,
    project_problems,
)
from content.checks.record_rules import record_problems
from content.matching.pattern import facts_of
from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits
from content.records.problem import Problem, errors
from content.records.record import Page, Placed, Record, Redirect, record_of
from content.records.vocabulary import Kind
from gitstore.compiled.segments.segment import id_number
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot, body_path
from gitstore.drafts.editing.content_files import ContentFiles, ContentPlan
from gitstore.drafts.editing.edits import Delete, Edit, Patch, Put, etag_of
from gitstore.drafts.editing.open_file import OpenFile, open_file
from gitstore.errors import BadRequest, DuplicateIdentity, DuplicatePath, Invalid, NotFound, StaleItem, UnknownRecord
from gitstore.layout import (
    ROLE_OF_KIND,
    RULES_PER_FILE,
    BlobId,
    can_reference,
    first_file,
    is_safe_name,
    numbered_file,
    role_of,
)
from gitstore.yamlfiles.dump import Layout, new_file
from gitstore.yamlfiles.rewrite import RewrittenFile, rewrite_file
from gitstore.yamlfiles.rule_file import load

Files = Mapping[str, bytes | None]
_REMOVED = ""


class Workspace:
    """Applies edits one after another; `files` and `changes` are the result."""

    def __init__(
        self,
        snapshot: Snapshot,
        read_blob: Callable[[BlobId], bytes],
        layout: Layout = "block",
        limits: PatternLimits = DEFAULT_LIMITS,
    ) -> None:
        self._limits = limits
        self._snapshot = snapshot
        self._read_blob = read_blob
        self._layout = layout
        self._original = {(kind, file.path): file for kind in Kind for file in snapshot.rule_files[kind]}
        self._open: dict[tuple[Kind, str], OpenFile] = {}
        self._moved: dict[tuple[Kind, int], str] = {}
        self._room: dict[Kind, str] = {}
        self._full_patterns: list[Redirect] = []
        self.full: dict[str, BlobId] = {}
        """The files that `append_redirects` wrote, by path in the project."""

    def append_redirects(self, new: Iterable[Redirect], write: Callable[[Sequence[Redirect]], BlobId]) -> None:
        """Append valid redirects whose sources are new, after any other edit.

        Files that exist get the first ones; `write` writes each new file as soon as it is full, so that the redirects of
        one file are in memory at a time.
        """
        self.__dict__.pop("_written", None)
        redirects = map(self._afford, new)
        places = (place for place in (*self._original, *self._open) if place[0] is Kind.REDIRECTS)
        lengths = {path: self._length(kind, path) for kind, path in places}
        for path, room in list_files_for_new(Kind.REDIRECTS, lengths, lengths.__getitem__):
            batch = list(islice(redirects, room))
            if not batch:
                break
            if path in lengths:
                self._opened(Kind.REDIRECTS, path).extend(batch)
            else:
                self.full[path] = write(batch)
                self._full_patterns += filter(is_pattern, batch)

    def _afford(self, redirect: Redirect) -> Redirect:
        if is_pattern(redirect):
            raise_invalid(self._budget.spend(redirect.source))
        return redirect

    def apply(self, edits: Iterable[Edit]) -> list[str]:
        """Apply edits in order; return the id of each edited record. The workspace is unusable after an error."""
        ids = []
        self.__dict__.pop("_written", None)
        for place, edit in enumerate(edits):
            try:
                ids.append(self._apply(edit))
            except NotFound as ex:
                raise UnknownRecord(str(ex), place) from ex
        return ids

    def _apply(self, edit: Edit) -> str:
        if isinstance(edit, Delete):
            self._delete(edit)
            return edit.id
        put = self._completed(edit) if isinstance(edit, Patch) else edit
        self._put(put)
        return put.record.id

    def _completed(self, edit: Patch) -> Put:
        """Take the fields that a patch does not name from the record as it is."""
        path = self._locate(edit.kind, edit.id)
        if not path:
            raise NotFound(f"There is no {_noun(edit.kind)} with the id {edit.id[:40]!r} in this draft.")
        before = self._current(edit.kind, path, edit.id)
        record = record_of(edit.kind, {**before.fields(), **edit.fields})
        return Put(edit.kind, record, edit.id, etag=edit.etag, file=edit.file)

    def _current(self, kind: Kind, path: str, record_id: str) -> Record:
        """Return a record as it is now, also from a file whose other rules are invalid."""
        opened = self._open.get((kind, path))
        if opened:
            return opened.records[opened.ids.index(int(record_id, 16))]
        file = self._original[kind, path]
        return self._snapshot.whole(file, file.segment.record(list(file.segment.ids).index(int(record_id, 16))))

    @property
    def files(self) -> Files:
        """The new bytes of every changed file, by path in the project; None for a removed file."""
        return self._written.files

    @property
    def rewritten(self) -> list[RewrittenFile]:
        """The files of rules that were opened, as they are written."""
        return list(self._written.rewritten.values())

    def placed(self, kind: Kind, record_id: str) -> Placed[Record]:
        """Return an edited record as it is written, with its file (path in the namespace) and line."""
        path = self._locate(kind, record_id)
        at = self._open[kind, path].ids.index(int(record_id, 16))
        written = self._written
        return Placed(
            written.records[kind, path][at],
            self._snapshot.full_path(path),
            written.rewritten[kind, path].rules.lines[at],
        )

    @cached_property
    def _written(self) -> "_WrittenFiles":
        plan = self._plan_contents()
        pages = {(Kind.PAGES, path): records for path, records in plan.lists.items()}
        records = {place: pages.get(place, file.records) for place, file in self._open.items()}
        files = {place: self._dump(place, of_file) for place, of_file in records.items()}
        return _WrittenFiles(
            {**{place[1]: file.data for place, file in files.items()}, **plan.bodies},
            records,
            files,
        )

    @property
    def changes(self) -> list[Change]:
        """The changes of the edits, record by record."""
        return [change for kind in Kind for change in diff(kind, self._before(kind), self._after(kind))]

    def require_affordable(self) -> None:
        """Raise Invalid if the edits raise the cost of the project's regular expressions above the limit."""
        opened = {path: file for (kind, path), file in self._open.items() if kind is Kind.REDIRECTS}
        grown = {path: pattern_cost(file.records) - pattern_cost(file.original) for path, file in opened.items()}
        added = sum(grown.values()) + pattern_cost(self._full_patterns)
        before = self._snapshot.pattern_cost if added or any(grown.values()) else 0
        cost = before + added
        if exceeds_project(self._limits, before, cost):
            rules = self._snapshot.costly_rules({(file.path, file.blob) for file in self._original_of(opened)})
            new = (CostlyRule(facts_of(each.source).cost, each.source) for each in self._patterns(opened.values()))
            raise_invalid(project_problems(self._limits, cost, [*rules, *new]))

    def _original_of(self, opened: Iterable[str]) -> Iterator[CompiledFile]:
        found = (self._original.get((Kind.REDIRECTS, path)) for path in opened)
        return (file for file in found if file)

    def _patterns(self, opened: Iterable[OpenFile]) -> Iterator[Redirect]:
        yield from self._full_patterns
        for file in opened:
            yield from (each for each in file.records if isinstance(each, Redirect) and is_pattern(each))

    @cached_property
    def _budget(self) -> CallBudget:
        return CallBudget(self._limits, self._snapshot.costly_sources(self._limits.rule))

    def _put(self, edit: Put) -> None:
        if is_pattern(edit.record):
            raise_invalid(self._budget.spend(edit.record.identity))
        require_valid(edit.record)
        wanted = edit.replaces or edit.record.id
        path = self._locate(edit.kind, wanted)
        if path and edit.create:
            raise _duplicate(edit, "A")
        if not path and edit.replaces:
            raise NotFound(f"There is no {_noun(edit.kind)} with the id {edit.replaces[:40]!r} in this draft.")
        if edit.replaces and edit.record.id != edit.replaces and self._locate(edit.kind, edit.record.id):
            raise _duplicate(edit, "Another")
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
        _require_etag(edit.etag, before)
        record = self._with_body(path, path, before, edit)
        file.put(at, record)
        self._moved[edit.kind, int(wanted, 16)] = _REMOVED
        self._moved[edit.kind, file.ids[at]] = path

    def _move(self, edit: Put, path: str, wanted: str) -> None:
        """Move a record from its file to the end of another; a page's content file stays where it is."""
        file = self._opened(edit.kind, path)
        before = file.remove(file.ids.index(int(wanted, 16)))
        _require_etag(edit.etag, before)
        self._moved[edit.kind, int(wanted, 16)] = _REMOVED
        self._append(edit, self._with_body(path, edit.file, before, edit))

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
        _require_etag(edit.etag, record)
        self._moved[edit.kind, int(edit.id, 16)] = _REMOVED

    def _with_body(self, path: str, to: str, before: Record, edit: Put) -> Record:
        """Return the page with its content file, if any, when it moves from `path` to `to`, where `to` can name it."""
        record = edit.record
        if edit.is_inline or not (isinstance(before, Page) and isinstance(record, Page) and before.content_file):
            return record
        body = body_path(path, before.content_file)
        if record.content_file or not can_reference(to, body):
            return record
        named = before.content_file if path == to else relpath(body, dirname(to) or ".")
        return replace(record, content_file=named)

    def _locate(self, kind: Kind, record_id: str) -> str:
        """Return the path of the file with a record; empty for none."""
        wanted = id_number(record_id)
        if wanted is None:
            return ""
        moved = self._moved.get((kind, wanted))
        if moved is not None:
            return moved
        at = self._snapshot.finder(kind).find_first(wanted)
        return "" if at is None else self._snapshot.rule_files[kind][at].path

    def _file_for_new(self, kind: Kind, named: str) -> str:
        if named:
            if role_of(named) is not ROLE_OF_KIND[kind] or not all(map(is_safe_name, named.split("/"))):
                raise BadRequest(f"{kind.capitalize()} belong in {kind}.yaml or {kind}/….yaml, not in {named[:100]!r}.")
            return named
        last = self._room.get(kind)
        if last is None or self._length(kind, last) >= RULES_PER_FILE:
            last = self._room[kind] = self._find_room(kind)
        return last

    def _find_room(self, kind: Kind) -> str:
        """Return the last file with room for one more record, else the name of a new one."""
        paths = {path for of_kind, path in (*self._original, *self._open) if of_kind is kind}
        return next(list_files_for_new(kind, paths, lambda path: self._length(kind, path)))[0]

    def _length(self, kind: Kind, path: str) -> int:
        opened = self._open.get((kind, path))
        return len(opened.ids) if opened else len(self._original[kind, path].segment)

    def _opened(self, kind: Kind, path: str) -> OpenFile:
        found = self._open.get((kind, path))
        if found is None:
            original = self._original.get((kind, path))
            found = self._open[kind, path] = open_file(self._snapshot, original, kind) if original else OpenFile()
        return found

    def _plan_contents(self) -> ContentPlan:
        pages = {path: file for (kind, path), file in self._open.items() if kind is Kind.PAGES}
        if not pages:
            return ContentPlan({}, {})
        before = {path: file.original for path, file in pages.items()}
        return ContentFiles(self._snapshot, before, {path: file.records for path, file in pages.items()}).plan()

    def _dump(self, place: tuple[Kind, str], records: Sequence[Record]) -> RewrittenFile:
        kind, path = place
        original = self._original.get(place)
        if original is None:
            data = new_file(kind, records, self._layout)
            return RewrittenFile(data, load(data, path))
        data, full = self._read_blob(original.blob), self._snapshot.full_path(path)
        renamed, known = self._open[place].renamed, original.segment.rules
        rewritten = rewrite_file(data, full, records, self._layout, renamed, known)
        return rewritten._replace(before=original.blob)

    def _before(self, kind: Kind) -> dict[str, Record]:
        files = ((self._original.get(key), file) for key, file in self._open.items() if key[0] is kind)
        return {record.identity: record for original, file in files if original for record in file.original}

    def _after(self, kind: Kind) -> dict[str, Record]:
        files = (file for (of_kind, _), file in self._open.items() if of_kind is kind)
        return {record.identity: record for file in files for record in file.records}


class _WrittenFiles(NamedTuple):
    """The result of all edits: bytes by path, and records and lines of each file that was opened."""

    files: Files
    records: Mapping[tuple[Kind, str], Sequence[Record]]
    rewritten: Mapping[tuple[Kind, str], RewrittenFile]


def require_valid(record: Record) -> None:
    """Raise Invalid where a record by itself has an error."""
    raise_invalid(errors(record_problems(record)))


def raise_invalid(found: Sequence[Problem]) -> None:
    """Raise Invalid if there are problems, with the first one as the message."""
    if found:
        raise Invalid(f"{found[0].message}", found)


def _require_etag(etag: str, record: Record) -> None:
    if etag and etag != etag_of(record):
        raise StaleItem(f"{record.identity!r} has changed since it was read. Read it again, then retry.")


def list_files_for_new(kind: Kind, existing: Iterable[str], count: Callable[[str], int]) -> Iterator[tuple[str, int]]:
    """Yield the files that take new records, each with their number, without end.

    The files that exist come first if they have room, from the last one on; `count` returns the records of one.
    """
    paths = sorted(existing)
    yield from ((path, room) for path in reversed(paths) if (room := RULES_PER_FILE - count(path)) > 0)
    while True:
        paths = [_next_file(kind, paths)]
        yield paths[0], RULES_PER_FILE


def _next_file(kind: Kind, paths: Sequence[str]) -> str:
    if not paths:
        return first_file(kind)
    numbers = [int(stem) for path in paths if (stem := path.removeprefix(f"{kind}/").removesuffix(".yaml")).isdecimal()]
    return numbered_file(kind, max(numbers, default=0) + 1)


def _duplicate(edit: Put, article: str) -> DuplicateIdentity:
    already = f"{article} {_noun(edit.kind)} for {edit.record.identity!r} already exists."
    if edit.kind is Kind.REDIRECTS:
        return DuplicateIdentity(f"{already} Change it, or use another source.")
    return DuplicatePath(f"{already} Change it, or use another path.")


def _noun(kind: Kind) -> str:
    return kind.removesuffix("s")
