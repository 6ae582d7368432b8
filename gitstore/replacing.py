"""Search and replace in the working state of a draft: what it would do, rule by rule, and doing it as one commit."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import schemas
from content.diff import Counts, count, item_kind
from content.pattern import PatternRefused
from content.problem import Problem, errors
from content.problem_codes import problem
from content.record import Page, Placed, Record
from content.record_rules import record_problems
from content.replacement import FIELDS, Replacement, ReplacementRefused, with_fields
from content.vocabulary import Kind
from gitstore.changes import changes_between
from gitstore.compiler import Compiler
from gitstore.drafts import DraftName, DraftState, commit_draft, must_stand_at, read_draft, snapshot_of, write_project
from gitstore.errors import Invalid, NotFound
from gitstore.layout import CommitId
from gitstore.listing import Query, list_items
from gitstore.messages import count_text
from gitstore.repository import Author, Repository, Update
from gitstore.rule_lists import RuleLists, bodies_of
from gitstore.snapshot import Snapshot

_TOLD_AT_MOST = 50
_WRITTEN_AT_MOST = 64 << 20
"""Characters of new values in all: what one request may make the service hold."""


@dataclass(frozen=True, slots=True)
class ReplaceOrder:
    """What to replace, in which fields of which records; with `ids` only in these of those that `where` finds."""

    name: DraftName
    replacement: Replacement
    fields: frozenset[str]
    kinds: tuple[Kind, ...] = (Kind.REDIRECTS,)
    where: Query = field(default_factory=Query)
    ids: frozenset[str] = frozenset()
    head: str = ""


@dataclass(frozen=True, slots=True)
class Replaced:
    """One record that changes: where it stands, its new values by field, and what would be wrong with it."""

    kind: Kind
    placed: Placed[Record]
    record: Record
    fields: Mapping[str, tuple[object, object]]
    problems: Sequence[Problem]

    def wire(self) -> dict[str, object]:
        """The JSON shape of the API."""
        return {
            "id": self.placed.record.id,
            "kind": item_kind(self.kind),
            "fields": {name: {"old": old, "new": new} for name, (old, new) in self.fields.items()},
            "problems": [each.wire() for each in self.problems],
        }


@dataclass(frozen=True, slots=True)
class Preview:
    """What a replacement would do to a draft that stands at `head` (None: release): a window of it, and totals."""

    head: CommitId | None
    items: Sequence[Replaced]
    counts: Mapping[Kind, int]
    wrong: int


def preview_replacement(
    compiler: Compiler, repository: Repository, order: ReplaceOrder, offset: int, limit: int
) -> Preview:
    """Say what would change; Invalid where what is sought cannot be, NotFound for an id that is not there."""
    state, _, found = _plan(compiler, repository, order)
    counts = {kind: sum(each.kind is kind for each in found) for kind in Kind}
    wrong = sum(1 for each in found if each.problems)
    return Preview(state.head, found[offset : offset + limit], counts, wrong)


@dataclass(frozen=True, slots=True)
class Replacing:
    """What a replacement did; `head` is None where there is no draft, for nothing was found."""

    head: CommitId | None
    counts: Mapping[Kind, Counts]


def replace_all(compiler: Compiler, update: Update, order: ReplaceOrder, author: Author) -> Replacing:
    """Replace as one commit; Invalid, naming every record, where one would be wrong, and then nothing is changed."""
    state, working, found = _plan(compiler, update, order)
    _refuse_wrong(found)
    if not found:
        return Replacing(state.head, {})
    lists = _applied(working, found)
    tree = write_project(update, state.tree, lists.dump(update.blob))
    counts = {kind: count(change for change in lists.changes if change.kind is kind) for kind in Kind}
    numbers = {kind: Counts(0, sum(each.kind is kind for each in found), 0) for kind in Kind}
    text = f"Replace: {count_text(numbers)}"
    return Replacing(commit_draft(update, state, tree, author, text), counts)


def _plan(
    compiler: Compiler, repository: Repository, order: ReplaceOrder
) -> tuple[DraftState, Snapshot, list[Replaced]]:
    state = read_draft(repository, order.name)
    must_stand_at(state, order.head)
    working = snapshot_of(compiler, state)
    before = compiler.snapshot(order.name.project, state.base_tree) if state.base_tree else None
    try:
        order.replacement.check()
        found = list(_bounded(each for kind in order.kinds for each in _replaced(kind, before, working, order)))
    except (PatternRefused, ReplacementRefused) as ex:
        told = [Problem("bad_replacement", str(ex), pointer="/find")]
        raise Invalid(f"This cannot be replaced: {ex}.", told) from ex
    return state, working, _judged(working, found)


def _replaced(kind: Kind, before: Snapshot | None, working: Snapshot, order: ReplaceOrder) -> Iterator[Replaced]:
    changes = changes_between(before, working)[kind] if order.where.change else ()
    items, _ = list_items(working, kind, changes, order.where, 0, working.count(kind) + len(changes))
    fields = [name for name in FIELDS[item_kind(kind)] if name in order.fields]
    _must_be_there(working, order)
    for item in items:
        record = item.placed.record
        is_wanted = item.placed.file and (not order.ids or record.id in order.ids)
        if is_wanted and (new := order.replacement.changed(record, fields)):
            old = record.fields()
            pairs = {name: (old[name], value) for name, value in new.items()}
            yield Replaced(kind, item.placed, with_fields(record, new), pairs, ())


def _bounded(found: Iterable[Replaced]) -> Iterator[Replaced]:
    written = 0
    for each in found:
        written += sum(len(str(new)) for _, new in each.fields.values())
        if written > _WRITTEN_AT_MOST:
            raise ReplacementRefused(
                f"it would write more than {_WRITTEN_AT_MOST:,} characters; narrow it by `where` or `ids`"
            )
        yield each


def _must_be_there(working: Snapshot, order: ReplaceOrder) -> None:
    unknown = (id_ for id_ in sorted(order.ids) if not any(working.find(kind, id_) for kind in order.kinds))
    if missing := next(unknown, None):
        raise NotFound(f"There is nothing with the id {missing[:40]!r} in this draft; nothing was replaced.")


def _judged(working: Snapshot, found: Sequence[Replaced]) -> list[Replaced]:
    """The same with what would be wrong with each of them."""
    twice = {kind: _twice(working, kind, [each for each in found if each.kind is kind]) for kind in Kind}
    return [replace(each, problems=_problems(each, twice[each.kind])) for each in found]


def _twice(working: Snapshot, kind: Kind, found: Sequence[Replaced]) -> set[str]:
    """The identities that more than one record would have; none where no identity changes."""
    if all(each.record.identity == each.placed.record.identity for each in found):
        return set()
    new = {each.placed.position: each.record.identity for each in found}
    counted = Counter(new.get(at, placed.record.identity) for at, placed in enumerate(working.placed(kind)))
    return {identity for identity, times in counted.items() if times > 1}


def _problems(each: Replaced, twice: Iterable[str]) -> list[Problem]:
    name = "source" if each.kind is Kind.REDIRECTS else "path"
    found = schemas.check(f"{item_kind(each.kind)}-patch", {key: new for key, (_, new) in each.fields.items()})
    found = found or errors(record_problems(each.record))
    if name in each.fields and each.record.identity in twice:
        noun = item_kind(each.kind)
        code = "duplicate_source" if each.kind is Kind.REDIRECTS else "duplicate_path"
        found = [*found, problem(code, f"another {noun} has or gets the {name} {_short(each.record)}", f"/{name}")]
    return found


def _refuse_wrong(found: Sequence[Replaced]) -> None:
    wrong = [each for each in found if each.problems]
    if wrong:
        message = f"{len(wrong)} of {len(found)} records would be wrong; nothing was replaced."
        raise Invalid(message, [_told(each, told) for each in wrong for told in each.problems][:_TOLD_AT_MOST])


def _told(each: Replaced, found: Problem) -> Problem:
    named = replace(found, message=f"{_short(each.placed.record)}: {found.message}")
    return named.at(each.placed.file, each.placed.line)


def _short(record: Record) -> str:
    return f'"{record.identity[:200]}"'


def _applied(working: Snapshot, found: Sequence[Replaced]) -> RuleLists:
    lists = RuleLists(working)
    for kind in {each.kind for each in found}:
        own = [each for each in found if each.kind is kind]
        new = {(each.placed.file, each.placed.record.identity): each.record for each in own}
        for full in {each.placed.file for each in own}:
            path = full.removeprefix(f"{working.project}/")
            lists.write(kind, path, [new.get((full, each.identity), each) for each in lists.read(kind, path)])
        for each in (each for each in own if "content" in each.fields):
            _write_body(lists, each.placed.file.removeprefix(f"{working.project}/"), each.record)
    return lists


def _write_body(lists: RuleLists, path: str, record: Record) -> None:
    for body in bodies_of([(path, record)]):
        lists.write_body(body, record.content if isinstance(record, Page) else "")
