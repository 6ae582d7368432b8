"""The plan of an import: every row counted once, and no field lost that the file does not have."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.checks.record_rules import record_problems
from content.formats.import_plan import ImportPlan, plan_import
from content.formats.tsv import read_rows, write_rows
from content.records.problem import Problem, Severity, errors
from content.records.record import Redirect
from content.records.vocabulary import RedirectStatus, RedirectType
from tests.content.rules import redirects
from tests.redirect_lists import LISTS, read_list

HEADER = "type\tsource\ttarget\tstatus\n"
KNOWN = Redirect(RedirectType.BASIC, "/known", "/x", RedirectStatus.FOUND, note="why", tags=("shop",))
EXISTING = {KNOWN.source: KNOWN}


def planned(lines: str, *, overwrite: bool = False) -> ImportPlan:
    """Return the plan for rows below a valid header, with one existing redirect."""
    return plan_import(EXISTING, read_rows((HEADER + lines).encode()), overwrite=overwrite)


def counts(plan: ImportPlan) -> dict[str, object]:
    """Return the figures of the report alone, without its problems."""
    reported = {"errors", "errorsTotal", "skippedRows", "wrong"}
    return {name: value for name, value in plan.report().items() if name not in reported and value}


_rules = st.lists(
    redirects().filter(lambda rule: not errors(record_problems(rule))), unique_by=lambda rule: rule.source
)


@given(present=_rules, imported=_rules, overwrite=st.booleans())
def test_every_row_is_counted_once_and_doing_it_makes_the_file_true(
    *, present: list[Redirect], imported: list[Redirect], overwrite: bool
) -> None:
    existing = {rule.source: rule for rule in present}
    plan = plan_import(existing, read_rows(write_rows(imported)), overwrite=overwrite)
    after = existing | {placed.record.source: placed.record for placed in plan.wanted}
    assert plan.report()["total"] == len(imported)
    assert not plan.errors
    assert set(after) == {*existing, *(rule.source for rule in imported)}
    skipped = {row.fields.source for row in plan.skipped if row.fields}
    assert all(after[rule.source] == rule for rule in imported if rule.source not in skipped)
    assert not (overwrite and skipped)


@given(present=_rules, imported=_rules, overwrite=st.booleans())
def test_a_second_import_of_the_same_file_changes_nothing(
    *, present: list[Redirect], imported: list[Redirect], overwrite: bool
) -> None:
    existing = {rule.source: rule for rule in present}
    first = plan_import(existing, read_rows(write_rows(imported)), overwrite=overwrite)
    after = existing | {placed.record.source: placed.record for placed in first.wanted}
    second = plan_import(after, read_rows(write_rows(imported)), overwrite=overwrite)
    assert second.wanted == []
    assert len(second.identical) + len(second.skipped) == len(imported)
    assert second.skipped == first.skipped


@given(_rules)
def test_an_export_is_identical_when_it_comes_back(present: list[Redirect]) -> None:
    plan = plan_import({rule.source: rule for rule in present}, read_rows(write_rows(present)), overwrite=True)
    assert counts(plan) == ({"total": len(present), "identical": len(present)} if present else {})


@pytest.mark.parametrize("name", [name for name in LISTS if name.endswith("cockroachdb")])
def test_a_list_is_planned_with_its_doubled_sources_named(name: str) -> None:
    plan = plan_import({}, read_rows(read_list(name)), overwrite=False)
    assert counts(plan) == {"total": 369, "added": 353}
    assert {problem.code for problem in plan.errors} == {"duplicate_source"}


def test_a_row_equal_to_what_is_there_is_identical_though_it_has_no_note_and_no_tags() -> None:
    assert counts(planned("BASIC\t/known\t/x\t302\n", overwrite=True)) == {"total": 1, "identical": 1}


def test_without_overwrite_what_is_there_stays() -> None:
    plan = planned("BASIC\t/known\t/new\t302\n")
    assert counts(plan) == {"total": 1, "skipped": 1}
    fields = {"target": {"old": "/x", "new": "/new"}}
    assert plan.report()["skippedRows"] == [{"line": 2, "source": "/known", "fields": fields}]
    assert plan.wanted == []


def test_with_overwrite_the_rule_is_updated_and_keeps_its_note_and_tags() -> None:
    plan = planned("REGEX\t/known\t/new\t301\n", overwrite=True)
    assert counts(plan) == {"total": 1, "changed": 1}
    expected = Redirect(RedirectType.REGEX, "/known", "/new", RedirectStatus.MOVED_PERMANENT, "why", ("shop",))
    assert [(placed.line, placed.record) for placed in plan.wanted] == [(2, expected)]


@pytest.mark.parametrize("target", ["/b", "/c"], ids=["the same row again", "another target"])
def test_a_duplicate_source_is_invalid_the_second_time_and_names_the_first(target: str) -> None:
    plan = planned(f"BASIC\t/a\t/b\t301\nBASIC\t/other\t/b\t301\nBASIC\t/a\t{target}\t301\n")
    assert counts(plan) == {"total": 3, "added": 2}
    assert plan.report()["errors"] == [
        {
            "line": 4,
            "column": 2,
            "code": "duplicate_source",
            "message": "this source is already in line 2: keep one of the two rows",
            "field": "source",
            "text": f"BASIC\t/a\t{target}\tMOVED_PERMANENT",
        }
    ]


def test_invalid_rows_are_reported_by_line_and_column_and_the_others_planned() -> None:
    plan = planned("BASIC\ta\tb\t301\nBASIC\t/a\t/b\t301\nnonsense\n")
    assert counts(plan) == {"total": 3, "added": 1}
    assert [(problem.line, problem.column) for problem in plan.errors] == [(2, 2), (2, 3), (4, 2)]


def test_of_very_many_invalid_rows_the_first_thousand_are_reported_and_all_are_counted() -> None:
    """A problem of the file as a whole is reported after any number of problems of rows."""
    data = HEADER.encode() + b"BASIC\ta\tb\t301\n" * 1_500 + b"BASIC\t/a\t/b\t301\n" * 2 + b"one more\n"
    plan = plan_import({}, read_rows(data, max_rows=1_502), overwrite=False)
    report = plan.report()
    assert (report["total"], report["added"], report["wrong"], report["errorsTotal"]) == (1_502, 1, 1_501, 3_002)
    assert [problem.line for problem in plan.errors] == [*(line for line in range(2, 1_002) for _ in "ab"), 1_504]
    assert plan.is_unreadable


def test_rows_that_are_invalid_in_the_set_are_counted_with_the_others() -> None:
    """The reported problems are the first of both kinds."""
    plan = planned("BASIC\t/a\t/b\t301\n" + "wrong\n" * 1_000)
    reduced = plan.with_problems([Problem("redirect_loop", "it loops", line=2, pointer="/target")])
    assert (reduced.errors[0].line, len(reduced.wrong), reduced.wrong_count) == (2, 1_000, 1_001)
    assert reduced.report()["errorsTotal"] == 1_001
    assert reduced.with_problems([]) == reduced


def test_an_invalid_header_is_an_error_but_not_a_row() -> None:
    plan = plan_import({}, read_rows(b"source\tto\n/a\t/b\n"), overwrite=False)
    assert counts(plan) == {}
    assert [(problem.line, problem.code) for problem in plan.errors] == [(1, "bad_header")]


def test_wanted_rules_are_in_the_order_of_the_file() -> None:
    plan = planned("BASIC\t/b\t/x\t301\nBASIC\t/known\t/new\t301\nBASIC\t/a\t/x\t301\n", overwrite=True)
    assert [(placed.line, placed.record.source) for placed in plan.wanted] == [(2, "/b"), (3, "/known"), (4, "/a")]


def test_rows_that_are_invalid_only_in_the_set_are_taken_out_and_reported_in_order() -> None:
    plan = planned("BASIC\t/a\t/b\t301\nBASIC\t/known\t/new\t301\nwrong\nBASIC\t/c\t/d\t301\n", overwrite=True)
    found = [
        Problem("redirect_loop", "it loops", line=5, pointer="/target"),
        Problem("shadowed", "a rule hides it", line=3, pointer="/source"),
    ]
    reduced = plan.with_problems(found)
    assert [placed.record.source for placed in reduced.wanted] == ["/a"]
    assert counts(reduced) == {"total": 4, "added": 1}
    assert [(problem.line, problem.column) for problem in reduced.errors] == [(3, 2), (4, 2), (5, 3)]


def test_warnings_and_problems_of_the_projects_own_files_take_no_row_out() -> None:
    plan = planned("BASIC\t/a\t/b\t301\n")
    found = [
        Problem("chain", "it is redirected again", line=2, severity=Severity.WARNING),
        Problem("redirect_loop", "it loops", file="shop/redirects.yaml", line=2),
        Problem("redirect_loop", "it loops somewhere"),
    ]
    assert plan.with_problems(found) == plan


@given(present=_rules, imported=_rules, before=_rules, overwrite=st.booleans())
def test_rows_that_are_planned_again_are_planned_as_if_read_again(
    *, present: list[Redirect], imported: list[Redirect], before: list[Redirect], overwrite: bool
) -> None:
    """A draft may change between the reading of the rows and the lock."""
    earlier, now = ({rule.source: replace(rule, note="n") for rule in rules} for rules in (before, present))
    rows = [*read_rows(write_rows([*imported, *imported[:2]]))]
    again = plan_import(earlier, rows, overwrite=overwrite).planned_again(now, overwrite=overwrite)
    assert again == plan_import(now, rows, overwrite=overwrite)
