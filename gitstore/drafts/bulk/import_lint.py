"""The errors and warnings that an import would bring into a draft, before anything is written."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from content.checks.record_rules import record_problems
from content.checks.set_rules import SetCheck
from content.formats.import_plan import ImportPlan
from content.formats.tsv import column_of
from content.matching.matcher import Matcher
from content.matching.rule_book import RuleBook
from content.records.problem import Problem
from content.records.problem_codes import count_never_answering
from content.records.record import Page, Placed, Record, Redirect
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import MAX_UNLINTED_RULES, Compiler
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.budget import find_budget_problems
from gitstore.compiled.validation.checks import find_failed_tests, without_pointer
from gitstore.drafts.bulk.import_order import ImportedRedirects


class ImportFinding(NamedTuple):
    """A problem and the record that has it, None for a failed test; without a file, its line is that of the import."""

    problem: Problem
    record: Record | None = None

    def wire(self) -> dict[str, object]:
        """Return the JSON shape of the API."""
        name = "path" if isinstance(self.record, Page) else "source"
        return {**({name: self.record.identity} if self.record else {}), **self.problem.wire()}


@dataclass(frozen=True, slots=True)
class ImportLint:
    """The findings that the draft has only with the import, by place, and the number of all rules that never answer."""

    findings: Sequence[ImportFinding]
    never_answer: int


def is_lintable(snapshot: Snapshot, plan: ImportPlan) -> bool:
    """Tell whether a project is small enough after an import to be linted at once."""
    return sum(map(snapshot.count, Kind)) + plan.counts.added <= MAX_UNLINTED_RULES


def lint_import(compiler: Compiler, snapshot: Snapshot, plan: ImportPlan) -> ImportLint | None:
    """Lint a draft as it would be with an import; None where that would take long."""
    if not is_lintable(snapshot, plan) or find_budget_problems(None, snapshot, compiler.limits):
        return None
    redirects, pages = list(ImportedRedirects(snapshot, snapshot.redirects(), plan)), snapshot.pages()
    matcher = Matcher(RuleBook(redirects, pages))
    found = list(_find(matcher, redirects, pages, plan.columns))
    problems = [each.problem for each in found]
    found += map(ImportFinding, find_failed_tests(snapshot, matcher, [*snapshot.problems, *problems]))
    return ImportLint(_only_new(compiler, snapshot, found), count_never_answering(problems))


def _find(
    matcher: Matcher, redirects: Sequence[Placed[Redirect]], pages: Sequence[Placed[Page]], columns: Sequence[int]
) -> Iterator[ImportFinding]:
    check = SetCheck(matcher)
    for redirect in redirects:
        for problem in (*record_problems(redirect.record), *check.redirect_problems(redirect)):
            yield ImportFinding(_placed(problem, redirect, columns), redirect.record)
    for page in pages:
        for problem in check.page_problems(page):
            yield ImportFinding(_placed(problem, page, columns), page.record)


def _placed(problem: Problem, placed: Placed[Record], columns: Sequence[int]) -> Problem:
    """Return the problem at the place of its record: in a row of the import with the column, as errors of rows have it."""
    if placed.file:
        [found] = without_pointer([problem.at(placed.file, placed.line)])
        return found
    return replace(problem, line=placed.line, column=column_of(problem, columns), pointer="")


def _only_new(compiler: Compiler, snapshot: Snapshot, found: Sequence[ImportFinding]) -> list[ImportFinding]:
    """Return the findings without those that the draft has before the import, ordered by place."""
    is_elsewhere = any(each.problem.file for each in found)
    known = Counter(map(_key, compiler.lint(snapshot.project, snapshot.tree) if is_elsewhere else ()))
    new = list[ImportFinding]()
    for each in found:
        if known[_key(each.problem)] > 0:
            known[_key(each.problem)] -= 1
        else:
            new.append(each)
    return sorted(new, key=lambda each: (each.problem.file, each.problem.line, each.problem.column))


def _key(problem: Problem) -> tuple[str, int, str]:
    return problem.file, problem.line, problem.code
