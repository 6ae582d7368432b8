"""What a search-and-replace in a draft would do, record by record, with what would be wrong."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import schemas
from content.diff import item_kind
from content.pattern import PatternRefused
from content.problem import Problem, errors
from content.problem_codes import problem
from content.record import Placed, Record
from content.record_rules import record_problems
from content.replacement import FIELDS, Replacement, ReplacementRefused, with_fields
from content.vocabulary import Kind
from gitstore.compiler import Compiler
from gitstore.draft_changes import draft_changes
from gitstore.drafts import DraftName, DraftState, must_stand_at, read_draft, snapshot_of
from gitstore.errors import Invalid, NotFound
from gitstore.listing import Draft, Item, Query, Span, list_items
from gitstore.repository import Repository
from gitstore.snapshot import Snapshot

_WRITTEN_AT_MOST = 64 << 20
"""Characters of new values in all: what one request may make the service hold."""
_SECONDS_AT_MOST = 20.0
"""What 100,000 rules take is 5 s; one of few processes is busy meanwhile."""


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


def plan_replacement(
    compiler: Compiler, repository: Repository, order: ReplaceOrder
) -> tuple[DraftState, Snapshot, list[Replaced]]:
    """The draft, its working state and every record that changes; Invalid, NotFound or StaleDraft."""
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
    changes = draft_changes(kind, before, working)
    whole = Span(0, working.count(kind) + changes.removed)
    items = list_items(Draft(kind, before, working, changes), order.where, whole).items
    fields = [name for name in FIELDS[item_kind(kind)] if name in order.fields]
    _must_be_there(working, order)
    for item in _in_time(items):
        record = item.placed.record
        is_wanted = item.placed.file and (not order.ids or record.id in order.ids)
        if is_wanted and (new := order.replacement.changed(record, fields)):
            old = record.fields()
            pairs = {name: (old[name], value) for name, value in new.items()}
            yield Replaced(kind, item.placed, with_fields(record, new), pairs, ())


def _in_time(items: Iterable[Item]) -> Iterator[Item]:
    """The items, for as long as there is time: a pattern may look through a whole text from each of its characters."""
    end = time.monotonic() + _SECONDS_AT_MOST
    for item in items:
        if time.monotonic() > end:
            raise ReplacementRefused(
                f"it takes more than {_SECONDS_AT_MOST:.0f} seconds; take a simpler pattern, or narrow it by `where` or `ids`"
            )
        yield item


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
        found = [*found, problem(code, f"another {noun} has or gets the {name} {shown(each.record)}", f"/{name}")]
    return found


def shown(record: Record) -> str:
    """A record as problems name it."""
    return f'"{record.identity[:200]}"'
