"""The findings of a dry run: those that the import brings into the draft, as its lint has them afterwards."""

from collections import Counter

import pytest

from content.checks.expectations import Expectation
from content.formats.tsv import read_rows
from gitstore.drafts.bulk import import_lint
from gitstore.drafts.bulk.importing import ImportOptions, ImportResult
from tests.gitstore.fixtures import ADA, MAIN, SPACE, Place, page, put, redirect

HEADER = "type\tsource\ttarget\tstatus\n"
ROWS = (
    "BASIC\t/new\t/old\t301\n"  # leads on through a rule of the draft
    "BASIC\t/x\t/y\t301\n"
    "BASIC\t/target\t/end\t301\n"  # a rule of the draft leads on through it
    "REGEX\t^/x$\t/z\t301\n"  # never answers
    "REGEX\t^/p.*\t/z\t301\n"  # hides a page
    "REGEX\t/open/(.*)\thttps://example.org$1\t301\n"  # two findings of its own
)


def run(place: Place, rows: str, *, dry_run: bool) -> ImportResult:
    options = ImportOptions(overwrite=True, dry_run=dry_run)
    return place.store.drafts.import_rows(SPACE, MAIN, read_rows((HEADER + rows).encode()), options, ADA)


def lint(place: Place) -> Counter[tuple[str, str]]:
    found = place.store.drafts.report(SPACE, MAIN).problems
    return Counter((each.code, each.severity) for each in found)


def filled(place: Place) -> Place:
    """Give the draft rules that have findings already: a chain, and another one in the row that is changed."""
    place.save(
        put(redirect("/old", "/target")), put(redirect("/a", "/b")), put(redirect("/b", "/c")), put(redirect("/x", "/a")),
        put(page("/page.txt")),
    )  # fmt: skip
    return place


def test_the_findings_of_a_dry_run_are_those_that_the_import_brings(place: Place) -> None:
    filled(place)
    before = lint(place)
    planned = run(place, ROWS, dry_run=True)
    assert planned.findings is not None, planned.plan.errors
    assert run(place, ROWS, dry_run=False).head
    brought = Counter((each.problem.code, each.problem.severity) for each in planned.findings)
    after = lint(place)
    after["chain", "warning"] += 1  # the import takes one away, that of /x
    assert brought == after - before
    assert (
        planned.never_answer
        == place.store.drafts.import_rows(SPACE, MAIN, [], ImportOptions(dry_run=True), ADA).never_answer
    )


def test_each_finding_names_its_rule_and_where_that_is(place: Place) -> None:
    found = run(filled(place), ROWS, dry_run=True).findings or ()
    shown = [(each.problem.file, each.problem.line, each.problem.column, each.problem.code) for each in found]
    assert shown == [
        ("", 2, 3, "chain"),
        ("", 5, 2, "regex_unreachable"),
        ("", 7, 2, "regex_unanchored"),
        ("", 7, 3, "open_redirect"),
        ("shop/pages.yaml", 2, 0, "page_unreachable"),
        ("shop/redirects.yaml", 2, 0, "chain"),
    ]
    names = [each.record.identity for each in found if each.record]
    assert names == ["/new", "^/x$", "/open/(.*)", "/open/(.*)", "/page.txt", "/old"]


def test_a_test_of_the_project_that_would_fail_is_a_finding(place: Place) -> None:
    place.store.drafts.write_tests(SPACE, MAIN, [Expectation("/a", 404), Expectation("/b", 301)], ADA)
    [found] = run(place, "BASIC\t/a\t/b\t301\n", dry_run=True).findings or ()  # the other one fails already
    assert (found.problem.file, found.problem.code, found.record) == ("shop/tests.yaml", "test_failed", None)


def test_the_findings_of_many_rules_are_unknown(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_lint, "MAX_UNLINTED_RULES", 9)
    assert run(filled(place), ROWS, dry_run=True).findings is None
