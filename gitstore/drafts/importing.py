"""Bulk import into a draft: rows of a TSV file become rules, in one commit or not at all."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from content.checks.record_rules import record_problems
from content.checks.set_rules import set_problems
from content.formats.import_plan import ImportPlan, plan_import
from content.formats.tsv import Row
from content.matching.canonical import exact_key
from content.matching.matcher import Matcher
from content.matching.request import parse_key
from content.matching.rule_book import RuleBook
from content.records.problem import Problem
from content.records.problem_codes import count_never_answering
from content.records.record import Page, Placed, Redirect
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import MAX_UNLINTED_RULES, Compiler
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.budget import find_budget_problems
from gitstore.drafts.drafts import DraftState, commit_workspace, snapshot_of
from gitstore.drafts.edits import Put
from gitstore.drafts.workspace import Workspace
from gitstore.git.repository import Author
from gitstore.git.transaction import Transaction
from gitstore.history.messages import count_text
from gitstore.layout import CommitId
from gitstore.yamlfiles.rewrite import RewrittenFile

# Without an invalid row only chains through it break, so in practice the second round finds nothing new.
_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """Import options: `overwrite` updates existing rules, `dry_run` only plans, `skip_errors` skips invalid rows."""

    overwrite: bool = False
    dry_run: bool = False
    skip_errors: bool = False


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of an import or a dry run; `head` is None where nothing was written.

    `never_answer` counts the rules that can never answer in the draft with the import, None where it is unknown.
    """

    plan: ImportPlan
    head: CommitId | None
    files: Sequence[RewrittenFile] = ()
    never_answer: int | None = None


def import_rows(
    compiler: Compiler,
    transaction: Transaction,
    state: DraftState,
    rows: Iterable[Row],
    options: ImportOptions,
    author: Author,
) -> ImportResult:
    """Import rows into a draft. Invalid rows stop it unless they are to be skipped; the plan lists all of them."""
    snapshot = snapshot_of(compiler, state)
    plan = _plan(snapshot, rows, overwrite=options.overwrite)
    if plan.is_unreadable or (plan.wrong and not options.skip_errors) or not (plan.wanted or options.dry_run):
        return ImportResult(plan, None)
    if options.dry_run:
        return ImportResult(plan, None, never_answer=_count_never_answering(compiler, snapshot, plan))
    workspace = Workspace(snapshot, transaction.blob, "flow", compiler.limits)
    workspace.apply(Put(Kind.REDIRECTS, placed.record) for placed in plan.wanted)
    workspace.require_affordable()
    text = f"Import: {count_text({Kind.REDIRECTS: plan.counts})}"
    head = commit_workspace(transaction, state, workspace, author, text).head
    return ImportResult(plan, head, workspace.rewritten)


def _count_never_answering(compiler: Compiler, snapshot: Snapshot, plan: ImportPlan) -> int | None:
    """Count the rules that could never answer after the import; None where that would take long."""
    if len(plan.wanted) + sum(map(snapshot.count, Kind)) > MAX_UNLINTED_RULES:
        return None
    if find_budget_problems(None, snapshot, compiler.limits):
        return None
    wanted = {placed.record.source: placed for placed in plan.wanted}
    kept = [placed for placed in snapshot.redirects() if placed.record.source not in wanted]
    redirects, pages = [*kept, *wanted.values()], snapshot.pages()
    alone = [problem.at(each.file, each.line) for each in redirects for problem in record_problems(each.record)]
    return count_never_answering([*alone, *set_problems(Matcher(RuleBook(redirects, pages)), redirects, pages)])


def _plan(snapshot: Snapshot, rows: Iterable[Row], *, overwrite: bool) -> ImportPlan:
    """Return the plan, which also lists rows that are invalid only among the others (loops, unreachable pages)."""
    existing, pages = snapshot.redirects(), snapshot.pages()
    known = {placed.record.source: placed.record for placed in existing}
    plan = plan_import(known, rows, overwrite=overwrite)
    for _ in range(_ROUNDS):
        before, plan = plan, plan.with_problems(_set_problems(existing, pages, plan))
        if before == plan:
            break
    return plan


def _set_problems(
    existing: Sequence[Placed[Redirect]], pages: Sequence[Placed[Page]], plan: ImportPlan
) -> list[Problem]:
    wanted = {placed.record.source: placed for placed in plan.wanted}
    kept = [placed for placed in existing if placed.record.source not in wanted]
    matcher = Matcher(RuleBook([*kept, *wanted.values()], pages))
    hiding = [problem for page in pages for problem in _hiding(matcher, page.record)]
    return [*set_problems(matcher, wanted.values(), ()), *hiding]


def _hiding(matcher: Matcher, page: Page) -> Iterator[Problem]:
    """Yield the problem of a row that would make a page unreachable, at the row, since the page was there first."""
    key = exact_key(page.type.has_host, page.path)
    match = matcher.match(parse_key(key)) if key else None
    rule = match.redirect if match else None
    if rule and not rule.file and rule.record.type.is_exact:
        message = f'this would hide the page "{page.path[:200]}"; remove the row, or remove the page'
        yield Problem("page_unreachable", message, line=rule.line, pointer="/source")
