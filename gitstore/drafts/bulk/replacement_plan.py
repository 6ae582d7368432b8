"""Plans of a change of many records in a draft, record by record, with the problems of the new values."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import schemas
from content.changes.assignment import Assignment, Removal
from content.changes.diff import identity_field, item_kind
from content.changes.replacement import FIELDS, InvalidReplacement, Replacement, with_fields
from content.checks.pattern_budget import CallBudget, is_pattern
from content.checks.record_rules import record_problems
from content.matching.pattern import InvalidPattern
from content.records.problem import Problem, errors
from content.records.problem_codes import problem
from content.records.record import Placed, Record
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.draft_changes import draft_changes
from gitstore.drafts.drafts import DraftName, DraftState, read_draft, require_head, snapshot_of
from gitstore.drafts.listing import DraftRecord, DraftView, Query, Span, list_items
from gitstore.errors import Invalid, NotFound
from gitstore.git.repository import Repository

_MAX_WRITTEN_CHARACTERS = 64 << 20  # characters of all new values: bounds the memory of a request
_SECONDS_AT_MOST = 20.0  # 100,000 rules take 5 s; the search occupies one of few processes


@dataclass(frozen=True, slots=True)
class ReplaceRequest:
    """A change of the records that `where` matches; with `ids` only of these of them. A replacement is in some fields."""

    name: DraftName
    change: Replacement | Assignment | Removal
    fields: frozenset[str] = frozenset()
    kinds: tuple[Kind, ...] = (Kind.REDIRECTS,)
    where: Query = field(default_factory=Query)
    ids: frozenset[str] = frozenset()
    head: str = ""


@dataclass(frozen=True, slots=True)
class RecordReplacement:
    """A record that changes: its place, its new values by field, their problems, and the new record; None if it is removed."""

    kind: Kind
    placed: Placed[Record]
    after: Record | None
    fields: Mapping[str, tuple[object, object]]
    problems: Sequence[Problem]

    def wire(self) -> dict[str, object]:
        """Return the JSON shape of the API."""
        return {
            "id": self.placed.record.id,
            "kind": item_kind(self.kind),
            identity_field(self.kind): self.placed.record.identity,
            "fields": {name: {"old": old, "new": new} for name, (old, new) in self.fields.items()},
            "problems": [each.wire() for each in self.problems],
        }


def plan_replacement(
    compiler: Compiler, repository: Repository, request: ReplaceRequest
) -> tuple[DraftState, Snapshot, list[RecordReplacement]]:
    """Return the draft, its working state and every record that changes; raises Invalid, NotFound or StaleDraft."""
    state = read_draft(repository, request.name)
    require_head(state, request.head)
    working = snapshot_of(compiler, state)
    before = compiler.snapshot(request.name.project, state.base_tree) if state.base_tree else None
    try:
        request.change.check(compiler.limits)
        found = list(_bounded(each for kind in request.kinds for each in _replaced(kind, before, working, request)))
    except (InvalidPattern, InvalidReplacement) as ex:
        is_search = isinstance(request.change, Replacement)
        problems = [Problem("bad_replacement", str(ex), pointer="/find" if is_search else "")]
        raise Invalid(f"Invalid {'replacement' if is_search else 'change'}: {ex}.", problems) from ex
    budget = CallBudget(compiler.limits, working.costly_sources(compiler.limits.rule))
    return state, working, _with_problems(working, found, budget)


def _replaced(
    kind: Kind, before: Snapshot | None, working: Snapshot, request: ReplaceRequest
) -> Iterator[RecordReplacement]:
    changes = draft_changes(kind, before, working)
    whole = Span(0, working.count(kind) + changes.removed)
    items = list_items(DraftView(kind, before, working, changes), request.where, whole).items
    fields = [name for name in FIELDS[item_kind(kind)] if name in request.fields]
    is_removed = isinstance(request.change, Removal)
    _require_records(working, request)
    for item in _in_time(items, request):
        record = item.placed.record
        is_wanted = item.placed.file and (not request.ids or record.id in request.ids)
        if is_wanted and (new := request.change.changed_fields(record, fields)):
            old = record.fields()
            pairs = {name: (old.get(name, []), value) for name, value in new.items()}
            after = None if is_removed else with_fields(record, new)
            yield RecordReplacement(kind, item.placed, after, pairs, ())


def _in_time(items: Iterable[DraftRecord], request: ReplaceRequest) -> Iterator[DraftRecord]:
    """Yield the items while there is time: a pattern may scan a whole text from each of its characters."""
    end = time.monotonic() + _SECONDS_AT_MOST
    is_regex = isinstance(request.change, Replacement) and request.change.regex
    action = "use a simpler pattern, or restrict it" if is_regex else "restrict it"
    for item in items:
        if time.monotonic() > end:
            raise InvalidReplacement(
                f"it takes more than {_SECONDS_AT_MOST:.0f} seconds; {action} with `where` or `ids`"
            )
        yield item


def _bounded(found: Iterable[RecordReplacement]) -> Iterator[RecordReplacement]:
    written = 0
    for each in found:
        written += sum(len(str(new)) for _, new in each.fields.values())
        if written > _MAX_WRITTEN_CHARACTERS:
            raise InvalidReplacement(
                f"it would write more than {_MAX_WRITTEN_CHARACTERS:,} characters; restrict it with `where` or `ids`"
            )
        yield each


def _require_records(working: Snapshot, request: ReplaceRequest) -> None:
    unknown = (id_ for id_ in sorted(request.ids) if not any(working.find_record(kind, id_) for kind in request.kinds))
    if missing := next(unknown, None):
        raise NotFound(f"The draft has no record with the id {missing[:40]!r}; nothing changed.")


def _with_problems(
    working: Snapshot, found: Sequence[RecordReplacement], budget: CallBudget
) -> list[RecordReplacement]:
    """Return the replacements with their problems."""
    twice = {kind: _duplicate_identities(working, kind, [each for each in found if each.kind is kind]) for kind in Kind}
    return [replace(each, problems=_problems(each, twice[each.kind], budget)) for each in found]


def _duplicate_identities(working: Snapshot, kind: Kind, found: Sequence[RecordReplacement]) -> set[str]:
    """Return the identities that more than one record would have; empty where no identity changes."""
    if all(each.after is None or each.after.identity == each.placed.record.identity for each in found):
        return set()
    new = {each.placed.position: (each.after or each.placed.record).identity for each in found}
    counted = Counter(new.get(at, placed.record.identity) for at, placed in enumerate(working.placed(kind)))
    return {identity for identity, times in counted.items() if times > 1}


def _problems(each: RecordReplacement, twice: Iterable[str], budget: CallBudget) -> list[Problem]:
    if each.after is None:
        return []
    name = "source" if each.kind is Kind.REDIRECTS else "path"
    found = schemas.check(f"{item_kind(each.kind)}-patch", {key: new for key, (_, new) in each.fields.items()})
    if not found and is_pattern(each.after) and (name in each.fields):
        found = budget.spend(each.after.identity)[:1]
    found = found or errors(record_problems(each.after))
    if name in each.fields and each.after.identity in twice:
        noun = item_kind(each.kind)
        code = "duplicate_source" if each.kind is Kind.REDIRECTS else "duplicate_path"
        found = [
            *found,
            problem(code, f"another {noun} has, or would get, the {name} {quote_identity(each.after)}", f"/{name}"),
        ]
    return found


def quote_identity(record: Record) -> str:
    """Return the quoted identity of a record for a message."""
    return f'"{record.identity[:200]}"'
