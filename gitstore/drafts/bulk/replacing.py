"""Changes of many records of a draft, such as search and replace: a preview, rule by rule, and its run as one commit.

The work is prepared without the repository's lock, which is held only for the commit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from content.changes.assignment import Removal
from content.changes.diff import Counts, count
from content.changes.replacement import Replacement
from content.checks.pattern_budget import CostlyRule, exceeds_project, is_pattern, pattern_cost, project_problems
from content.records.pattern_limits import PatternLimits
from content.records.problem import Problem
from content.records.vocabulary import Kind
from gitstore.comparison.descriptions import count_text
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.bulk.replacement_plan import RecordReplacement, ReplaceRequest, plan_replacement, quote_identity
from gitstore.drafts.drafts import DraftState, commit_draft, read_draft, write_project
from gitstore.drafts.editing.rule_lists import RuleLists
from gitstore.drafts.editing.workspace import Files
from gitstore.errors import Invalid
from gitstore.git.repository import Author, Repository
from gitstore.git.transaction import Transaction
from gitstore.layout import CommitId

_MAX_PROBLEMS = 50


@dataclass(frozen=True, slots=True)
class ReplacePreview:
    """A window and the totals of a replacement in a draft; `head` is the draft's head (None: release)."""

    head: CommitId | None
    items: Sequence[RecordReplacement]
    counts: Mapping[Kind, int]
    wrong: int


def preview_replacement(
    compiler: Compiler, repository: Repository, request: ReplaceRequest, offset: int, limit: int
) -> ReplacePreview:
    """Return the records that would change; raises Invalid for an unusable search text, NotFound for an unknown id."""
    state, _, found = plan_replacement(compiler, repository, request)
    counts = {kind: sum(each.kind is kind for each in found) for kind in Kind}
    wrong = sum(1 for each in found if each.problems)
    return ReplacePreview(state.head, found[offset : offset + limit], counts, wrong)


@dataclass(frozen=True, slots=True)
class ReplaceResult:
    """The result of a replacement; `head` is None where nothing matched and there is no draft."""

    head: CommitId | None
    counts: Mapping[Kind, Counts]


@dataclass(frozen=True, slots=True)
class PreparedReplacement:
    """A replacement that is ready to be committed: its draft, the new bytes of files, the counts, the message."""

    state: DraftState
    files: Files
    counts: Mapping[Kind, Counts]
    text: str


def prepare_replacement(compiler: Compiler, repository: Repository, request: ReplaceRequest) -> PreparedReplacement:
    """Do all of the work except the commit; raises Invalid, with every record, where one would be invalid."""
    state, working, found = plan_replacement(compiler, repository, request)
    _require_valid(found)
    if not found:
        return PreparedReplacement(state, {}, {}, "")
    _require_affordable(compiler.limits, working, found)
    lists = _apply(working, found)
    counts = {kind: count(change for change in lists.changes if change.kind is kind) for kind in Kind}
    return PreparedReplacement(state, lists.dump(repository.blob), counts, _describe(request, found))


def _describe(request: ReplaceRequest, found: Sequence[RecordReplacement]) -> str:
    removes = isinstance(request.change, Removal)
    totals = {kind: sum(each.kind is kind for each in found) for kind in Kind}
    numbers = {kind: Counts(0, 0, total) if removes else Counts(0, total, 0) for kind, total in totals.items()}
    verb = "Replace" if isinstance(request.change, Replacement) else "Remove" if removes else "Set"
    return f"{verb}: {count_text(numbers)}"


def commit_replacement(transaction: Transaction, prepared: PreparedReplacement, author: Author) -> ReplaceResult | None:
    """Commit a prepared replacement; returns None, without a change, where the draft has moved since.

    Other publishes, also of another draft of this project, do not matter.
    """
    state = read_draft(transaction, prepared.state.name)
    if _draft_position(state) != _draft_position(prepared.state):
        return None
    if not prepared.files:
        return ReplaceResult(state.head, {})
    tree = write_project(transaction, state, prepared.files)
    return ReplaceResult(commit_draft(transaction, state, tree, author, prepared.text), prepared.counts)


def _draft_position(state: DraftState) -> tuple[object, ...]:
    return state.head, state.tree, state.base_tree


def _require_valid(found: Sequence[RecordReplacement]) -> None:
    wrong = [each for each in found if each.problems]
    if wrong:
        message = f"{len(wrong)} of {len(found)} records would be invalid; nothing changed."
        raise Invalid(
            message, [_build_problem(each, problem) for each in wrong for problem in each.problems][:_MAX_PROBLEMS]
        )


def _require_affordable(limits: PatternLimits, working: Snapshot, found: Sequence[RecordReplacement]) -> None:
    before = working.pattern_cost
    after = [(each, each.after) for each in found if each.after]
    cost = before + pattern_cost(new for _, new in after) - pattern_cost(each.placed.record for each in found)
    if exceeds_project(limits, before, cost):
        new = [
            CostlyRule(pattern_cost([new]), new.identity, each.placed.file, each.placed.line)
            for each, new in after
            if is_pattern(new)
        ]
        problems = project_problems(limits, cost, new)
        raise Invalid(problems[0].message, problems)


def _build_problem(each: RecordReplacement, found: Problem) -> Problem:
    named = replace(found, message=f"{quote_identity(each.placed.record)}: {found.message}")
    return named.at(each.placed.file, each.placed.line)


def _apply(working: Snapshot, found: Sequence[RecordReplacement]) -> RuleLists:
    lists = RuleLists(working)
    for kind in {each.kind for each in found}:
        own = [each for each in found if each.kind is kind]
        new = {(each.placed.file, each.placed.record.identity): each.after for each in own}
        for full in {each.placed.file for each in own}:
            path = full.removeprefix(f"{working.project}/")
            after = (new.get((full, each.identity), each) for each in lists.read(kind, path))
            lists.write(kind, path, [each for each in after if each is not None])
    return lists
