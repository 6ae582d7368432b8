"""Bulk import into a draft: rows of a TSV become rules of the draft, as one commit or not at all."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from content.canonical import exact_key
from content.import_plan import ImportPlan, plan_import
from content.matching import Matcher
from content.problem import Problem
from content.record import Page, Placed, Redirect
from content.request import parse_key
from content.rule_book import RuleBook
from content.set_rules import set_problems
from content.tsv import Row
from content.vocabulary import Kind
from gitstore.compiler import Compiler
from gitstore.drafts import DraftState, commit_workspace, snapshot_of
from gitstore.edits import Put
from gitstore.layout import CommitId
from gitstore.messages import count_text
from gitstore.repository import Author
from gitstore.snapshot import Snapshot
from gitstore.update import Update
from gitstore.workspace import Workspace

_ROUNDS = 5
"""Leaving a wrong row out can only break chains that led through it, so a second look finds nothing new in practice."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """`overwrite` updates rules of the same source, `dry_run` writes nothing, `skip_errors` leaves wrong rows out."""

    overwrite: bool = False
    dry_run: bool = False
    skip_errors: bool = False


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, or would do; `head` is None where nothing was written."""

    plan: ImportPlan
    head: CommitId | None


def import_rows(
    compiler: Compiler, update: Update, state: DraftState, rows: Iterable[Row], options: ImportOptions, author: Author
) -> Imported:
    """Import rows into a draft. Rows in error stop it unless they are to be left out; the plan names them all."""
    snapshot = snapshot_of(compiler, state)
    plan = _plan(snapshot, rows, overwrite=options.overwrite)
    if options.dry_run or plan.is_unreadable or (plan.wrong and not options.skip_errors) or not plan.wanted:
        return Imported(plan, None)
    workspace = Workspace(snapshot, update.blob, "flow")
    workspace.apply(Put(Kind.REDIRECTS, placed.record) for placed in plan.wanted)
    text = f"Import: {count_text({Kind.REDIRECTS: plan.counts})}"
    return Imported(plan, commit_workspace(update, state, workspace, author, text).head)


def _plan(snapshot: Snapshot, rows: Iterable[Row], *, overwrite: bool) -> ImportPlan:
    """The plan, with the rows that are wrong only together with the others (loops, unreachable pages) named."""
    existing, pages = snapshot.redirects(), snapshot.pages()
    known = {placed.record.source: placed.record for placed in existing}
    plan = plan_import(known, rows, overwrite=overwrite)
    for _ in range(_ROUNDS):
        before, plan = plan, plan.without(_set_problems(existing, pages, plan))
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
    """The row that would make a page unreachable: told of the row, for the page was there first."""
    key = exact_key(page.type.has_host, page.path)
    match = matcher.match(parse_key(key)) if key else None
    rule = match.redirect if match else None
    if rule and not rule.file and rule.record.type.is_exact:
        message = f'this would hide the page "{page.path[:200]}"; leave the row out, or remove the page'
        yield Problem("page_unreachable", message, line=rule.line, pointer="/source")
