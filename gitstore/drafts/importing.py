"""Bulk import into a draft: rows of a TSV file become rules, in one commit or not at all."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from content.checks.record_rules import record_problems
from content.checks.set_rules import listed_problems, set_problems
from content.formats.import_plan import ImportPlan, plan_import
from content.formats.tsv import Row
from content.matching.canonical import exact_key
from content.matching.hashed_rules import HashedRules
from content.matching.matcher import Matcher
from content.matching.request import parse_key
from content.matching.rule_book import RuleBook
from content.records.problem import Problem
from content.records.problem_codes import count_never_answering
from content.records.record import Page, Placed, Redirect
from content.records.vocabulary import Kind
from gitstore.comparison.descriptions import count_text
from gitstore.compiled.compiler import MAX_UNLINTED_RULES, Compiler
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.budget import find_budget_problems
from gitstore.drafts.drafts import DraftState, commit_workspace, project_tree, snapshot_of
from gitstore.drafts.edits import Put
from gitstore.drafts.import_order import ImportedRedirects
from gitstore.drafts.workspace import Workspace
from gitstore.git.after_commit import after_commit
from gitstore.git.repository import Author
from gitstore.git.transaction import Transaction
from gitstore.layout import BlobId, CommitId, TreeId
from gitstore.yamlfiles.dump import new_file
from gitstore.yamlfiles.rewrite import RewrittenFile
from gitstore.yamlfiles.rule_file import written_rules

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

    `never_answer` counts the rules that can never answer in the draft with the import, None where it is unknown;
    `is_countable` tells that the draft is small enough to count them.
    """

    plan: ImportPlan
    head: CommitId | None
    files: Sequence[RewrittenFile] = ()
    never_answer: int | None = None
    is_countable: bool = False


class PlannedImport(NamedTuple):
    """A plan for one state of a project: before the checks of the rows together, and after them."""

    tree: TreeId | None
    read: ImportPlan
    plan: ImportPlan


def plan_rows(compiler: Compiler, state: DraftState, rows: Iterable[Row], options: ImportOptions) -> PlannedImport:
    """Read the rows, and plan their import into a draft; needs no lock."""
    snapshot = snapshot_of(compiler, state)
    return _check_together(snapshot, state, plan_import(_known(snapshot), rows, overwrite=options.overwrite))


def import_rows(
    compiler: Compiler,
    transaction: Transaction,
    state: DraftState,
    planned: PlannedImport,
    options: ImportOptions,
    author: Author,
) -> ImportResult:
    """Import rows into a draft. Invalid rows stop it unless they are to be skipped; the plan lists all of them."""
    snapshot = snapshot_of(compiler, state)
    if planned.tree != state.tree:  # it changed meanwhile
        again = planned.read.planned_again(_known(snapshot), overwrite=options.overwrite)
        planned = _check_together(snapshot, state, again)
    plan = planned.plan
    if plan.is_unreadable or (plan.wrong and not options.skip_errors) or not (plan.wanted_count or options.dry_run):
        return ImportResult(plan, None)
    if options.dry_run:
        return ImportResult(plan, None, never_answer=_count_never_answering(compiler, snapshot, plan))
    workspace = Workspace(snapshot, transaction.blob, "flow", compiler.limits)
    workspace.apply(Put(Kind.REDIRECTS, row.fields) for row in plan.changed if row.fields)
    workspace.append_redirects(
        (row.fields for row in plan.added if row.fields), lambda batch: _write_file(compiler, transaction, batch)
    )
    workspace.require_affordable()
    text = f"Import: {count_text({Kind.REDIRECTS: plan.counts})}"
    head = commit_workspace(transaction, state, workspace, author, text).head
    if not plan.wrong and _has_no_content(snapshot):
        with after_commit("recording that the rules are valid"):  # otherwise the publish checks them
            compiler.record_validated(TreeId(str(project_tree(transaction, head, state.name.project))))
    return ImportResult(plan, head, workspace.rewritten, is_countable=_is_countable(snapshot, plan))


def _is_countable(snapshot: Snapshot, plan: ImportPlan) -> bool:
    """Tell whether a project is small enough after an import to count the rules that can never answer."""
    return sum(map(snapshot.count, Kind)) + plan.counts.added <= MAX_UNLINTED_RULES


def _has_no_content(snapshot: Snapshot) -> bool:
    """Tell whether nothing can go wrong among what a project has and new rules: the check of the rules is that of the project."""
    return not (any(snapshot.counts.values()) or snapshot.expectations or snapshot.problems)


def _write_file(compiler: Compiler, transaction: Transaction, redirects: Sequence[Redirect]) -> BlobId:
    """Write a new file of rules, and its segment, which is not kept in memory: an import can have thousands."""
    data = new_file(Kind.REDIRECTS, redirects, "flow")
    blob = transaction.write_blob(data)
    compiler.store_segment(blob, written_rules(redirects, data))
    return blob


def _count_never_answering(compiler: Compiler, snapshot: Snapshot, plan: ImportPlan) -> int | None:
    """Count the rules that could never answer after the import; None where that would take long."""
    if not _is_countable(snapshot, plan):
        return None
    if find_budget_problems(None, snapshot, compiler.limits):
        return None
    redirects, pages = list(ImportedRedirects(snapshot, snapshot.redirects(), plan)), snapshot.pages()
    alone = [problem.at(each.file, each.line) for each in redirects for problem in record_problems(each.record)]
    return count_never_answering([*alone, *set_problems(Matcher(RuleBook(redirects, pages)), redirects, pages)])


def _known(snapshot: Snapshot) -> dict[str, Redirect]:
    return {placed.record.source: placed.record for placed in snapshot.redirects()}


def _check_together(snapshot: Snapshot, state: DraftState, read: ImportPlan) -> PlannedImport:
    """Return the plan, which also lists rows that are invalid only among the others (loops, unreachable pages)."""
    existing, pages = snapshot.redirects(), snapshot.pages()
    plan = read
    for _ in range(_ROUNDS):
        before, plan = plan, plan.with_problems(_set_problems(ImportedRedirects(snapshot, existing, plan), pages))
        if before is plan:
            break
    return PlannedImport(state.tree, read, plan)


def _set_problems(redirects: ImportedRedirects, pages: Sequence[Placed[Page]]) -> list[Problem]:
    rules = HashedRules(redirects, pages, redirects.sources())
    matcher = Matcher(rules)
    hiding = [problem for page in pages for problem in _hiding(matcher, page.record)]
    return [*listed_problems(matcher, rules, redirects.enumerate_rows()), *hiding]


def _hiding(matcher: Matcher, page: Page) -> Iterator[Problem]:
    """Yield the problem of a row that would make a page unreachable, at the row, since the page was there first."""
    key = exact_key(page.type.has_host, page.path)
    match = matcher.match(parse_key(key)) if key else None
    rule = match.redirect if match else None
    if rule and not rule.file and rule.record.type.is_exact:
        message = f'this would hide the page "{page.path[:200]}"; remove the row, or remove the page'
        yield Problem("page_unreachable", message, line=rule.line, pointer="/source")
