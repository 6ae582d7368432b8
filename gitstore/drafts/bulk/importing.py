"""Bulk import into a draft: rows of a TSV file become rules, in one commit or not at all."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from content.checks.set_rules import listed_problems
from content.formats.import_plan import ImportPlan, plan_import
from content.formats.tsv import Row
from content.matching.canonical import exact_key
from content.matching.hashed_rules import HashedRules
from content.matching.matcher import Matcher
from content.matching.request import parse_key
from content.records.problem import Problem
from content.records.record import Page, Placed, Redirect
from content.records.vocabulary import Kind
from gitstore.comparison.descriptions import count_text
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.bulk.import_lint import ImportFinding, is_lintable, lint_import
from gitstore.drafts.bulk.import_order import ImportedRedirects
from gitstore.drafts.drafts import DraftState, commit_workspace, project_tree, require_head, snapshot_of
from gitstore.drafts.editing.edits import Put
from gitstore.drafts.editing.workspace import Workspace
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
    """Import options: `overwrite` updates existing rules, `dry_run` only plans, `skip_errors` skips invalid rows.

    With a `head`, only a draft at this commit is planned for or changed; `NO_DRAFT` is for none.
    """

    overwrite: bool = False
    dry_run: bool = False
    skip_errors: bool = False
    head: str = ""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The result of an import or a dry run; `head` is None where nothing was written.

    `seen` is the head of the draft that the plan is for, None without a draft.
    `never_answer` counts the rules that can never answer in the draft with the import, None where it is unknown;
    `is_countable` tells that the draft is small enough to count them. `findings` are those of a dry run, None where
    they are unknown.
    """

    plan: ImportPlan
    head: CommitId | None
    seen: CommitId | None
    files: Sequence[RewrittenFile] = ()
    never_answer: int | None = None
    is_countable: bool = False
    findings: Sequence[ImportFinding] | None = None


class PlannedImport(NamedTuple):
    """A plan for one state of a project: before the checks of the rows together, and after them."""

    tree: TreeId | None
    read: ImportPlan
    plan: ImportPlan


def plan_rows(compiler: Compiler, state: DraftState, rows: Iterable[Row], options: ImportOptions) -> PlannedImport:
    """Read the rows, and plan their import into a draft; needs no lock."""
    snapshot = snapshot_of(compiler, state)
    return _check_together(snapshot, state, plan_import(_known(snapshot), rows, overwrite=options.overwrite))


def preview_import(
    compiler: Compiler, state: DraftState, planned: PlannedImport, options: ImportOptions
) -> ImportResult:
    """Return what an import would do to a draft; needs no lock."""
    plan = planned.plan
    lint = None if _is_refused(plan, options) else lint_import(compiler, snapshot_of(compiler, state), plan)
    if lint is None:
        return ImportResult(plan, None, state.head)
    return ImportResult(plan, None, state.head, never_answer=lint.never_answer, findings=lint.findings)


def _is_refused(plan: ImportPlan, options: ImportOptions) -> bool:
    return plan.is_unreadable or bool(plan.wrong and not options.skip_errors)


def import_rows(
    compiler: Compiler,
    transaction: Transaction,
    state: DraftState,
    planned: PlannedImport,
    options: ImportOptions,
    author: Author,
) -> ImportResult:
    """Import rows into a draft. Invalid rows stop it unless they are to be skipped; the plan lists all of them."""
    require_head(state, options.head)
    snapshot = snapshot_of(compiler, state)
    if planned.tree != state.tree:  # it changed meanwhile
        again = planned.read.planned_again(_known(snapshot), overwrite=options.overwrite)
        planned = _check_together(snapshot, state, again)
    plan = planned.plan
    if _is_refused(plan, options) or not plan.wanted_count:
        return ImportResult(plan, None, state.head)
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
    return ImportResult(plan, head, state.head, workspace.rewritten, is_countable=is_lintable(snapshot, plan))


def _has_no_content(snapshot: Snapshot) -> bool:
    """Tell whether nothing can go wrong among what a project has and new rules: the check of the rules is that of the project."""
    return not (any(snapshot.counts.values()) or snapshot.expectations or snapshot.problems)


def _write_file(compiler: Compiler, transaction: Transaction, redirects: Sequence[Redirect]) -> BlobId:
    """Write a new file of rules, and its segment, which is not kept in memory: an import can have thousands."""
    data = new_file(Kind.REDIRECTS, redirects, "flow")
    blob = transaction.write_blob(data)
    compiler.store_segment(blob, written_rules(redirects, data))
    return blob


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
