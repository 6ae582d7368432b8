"""Budgets of regular expressions in drafts, publishes and plain pushes; what is published under higher limits stays."""

from pathlib import Path

import pytest

from content.changes.replacement import Replacement
from content.formats.tsv import read_rows
from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits
from content.records.problem import Severity
from content.records.record import Redirect
from content.records.vocabulary import Kind, RedirectType
from gitstore.drafts.bulk.importing import ImportOptions
from gitstore.drafts.bulk.replacement_plan import ReplaceRequest
from gitstore.drafts.editing.edits import Delete, Patch
from gitstore.errors import Invalid
from gitstore.namespaces.checkout import read_checkout
from gitstore.publish.publishing import PublishRequest
from gitstore.store.store import Store
from tests.gitstore.fixtures import ADA, MAIN, SHOP, SPACE, Place, create_place, put, redirect

LIMITS = PatternLimits(rule=500, project=2_000, call=2_000)
HEAD = b"type\tsource\ttarget\tstatus\n"


def regex(number: int, copies: int = 400) -> Redirect:
    """Return a rule whose cost is about the number of copies."""
    return redirect(f"^/{number}a{{{copies}}}$", "/t", type=RedirectType.REGEX)


def limited(place: Place, limits: PatternLimits = LIMITS) -> Place:
    """Open the same data as after an upgrade with these limits."""
    return Place(place.root, Store(place.root, limits))


@pytest.fixture
def strict(tmp_path: Path) -> Place:
    """Return a place with low limits and a project."""
    return limited(create_place(tmp_path)).begin(SHOP)


@pytest.fixture
def above(tmp_path: Path) -> Place:
    """Return a place whose project was published before the limits: ten rules, five of them too costly."""
    before = create_place(tmp_path).begin(SHOP)
    before.publish(*(put(regex(number, 400 + number % 2 * 400)) for number in range(10)))
    return limited(before)


def codes(caught: pytest.ExceptionInfo[Invalid]) -> set[str]:
    """Return the codes of the problems."""
    return {problem.code for problem in caught.value.problems}


def test_an_edit_cannot_add_a_rule_that_is_too_costly(strict: Place) -> None:
    with pytest.raises(Invalid) as caught:
        strict.save(put(regex(1, 600)))
    assert codes(caught) == {"regex_too_costly"}


def test_edits_cannot_raise_a_project_above_its_limit(strict: Place) -> None:
    strict.save(*(put(regex(number)) for number in range(4)))
    with pytest.raises(Invalid) as caught:
        strict.save(put(regex(9, 450)))
    assert codes(caught) == {"regex_budget"}
    first = caught.value.problems[0]
    assert "this project cost 2,0" in first.message
    assert "^/9a{450}$" in first.message


def test_one_edit_cannot_bring_more_than_a_call_may(strict: Place) -> None:
    with pytest.raises(Invalid) as caught:
        strict.save(*(put(regex(number)) for number in range(6)))
    assert codes(caught) == {"regex_budget"}


def test_an_import_reports_the_rows_beyond_the_budget(strict: Place) -> None:
    lines = [f"REGEX\t^/{number}a{{400}}$\t/t\t301\n".encode() for number in range(8)]
    budget = strict.store.drafts.call_budget(SPACE, MAIN)
    rows = read_rows(HEAD + b"".join(lines), budget=budget)
    plan = strict.store.drafts.import_rows(SPACE, MAIN, rows, ImportOptions(dry_run=True), ADA).plan
    assert [row.line for row in plan.wrong] == [6, 7, 8, 9]
    assert {problem.code for problem in plan.errors} == {"regex_budget"}


def test_search_and_replace_has_the_same_budgets(strict: Place) -> None:
    strict.save(*(put(regex(number, 390)) for number in range(5)))
    costly = ReplaceRequest(MAIN, Replacement("b{900}", "", regex=True), frozenset({"source"}))
    with pytest.raises(Invalid, match="costs at least 900"):
        strict.store.drafts.replace(SPACE, costly, ADA)
    for new, code in (("900", "regex_too_costly"), ("490", "regex_budget")):
        growing = ReplaceRequest(MAIN, Replacement("390", new), frozenset({"source"}))
        with pytest.raises(Invalid) as caught:
            strict.store.drafts.replace(SPACE, growing, ADA)
        assert codes(caught) == {code}


def test_a_draft_of_plain_git_above_the_limit_is_reported_and_cannot_be_published(strict: Place) -> None:
    rules = "".join(f"  - {{type: REGEX, source: '{regex(n).source}', target: /t, status: FOUND}}\n" for n in range(9))
    strict.push({f"{SHOP}/redirects.yaml": f"redirects:\n{rules}"}, to=f"draft/{SHOP}/main")
    report = strict.store.drafts.report(SPACE, MAIN)
    assert {problem.code for problem in report.problems} == {"regex_budget"}
    assert {problem.file for problem in report.problems} == {f"{SHOP}/redirects.yaml"}
    assert all(problem.line for problem in report.problems)
    with pytest.raises(Invalid) as caught:
        strict.publish()
    assert codes(caught) == {"regex_budget"}


def test_a_plain_push_above_the_limit_leaves_the_last_good_version_served(strict: Place) -> None:
    strict.publish(put(redirect("/a", "/b")))
    rules = "".join(f"  - {{type: REGEX, source: '{regex(n).source}', target: /t, status: FOUND}}\n" for n in range(9))
    strict.push({f"{SHOP}/redirects.yaml": f"redirects:\n{rules}"})
    assert strict.targets() == {"/a": "/b"}
    assert "regex_budget" in strict.store.releases.project(SPACE, SHOP).entry.failed
    assert limited(strict).targets() == {"/a": "/b"}


def test_a_project_published_before_the_limits_is_served_and_may_change_and_shrink(above: Place) -> None:
    assert len(above.targets()) == 10
    above.publish(put(redirect("/plain", "/b")))
    above.publish(Patch(Kind.REDIRECTS, regex(1, 800).id, {"target": "/other"}))
    above.publish(Delete(Kind.REDIRECTS, regex(3, 800).id))
    assert len(above.targets()) == 10
    assert above.targets()["^/1a{800}$"] == "/other"


def test_a_project_published_before_the_limits_may_not_grow(above: Place) -> None:
    with pytest.raises(Invalid) as caught:
        above.save(put(regex(77, 10)))
    assert codes(caught) == {"regex_budget"}
    with pytest.raises(Invalid) as caught:
        above.save(put(regex(77, 600)), Delete(Kind.REDIRECTS, regex(3, 800).id))
    assert codes(caught) == {"regex_too_costly"}
    above.publish(Delete(Kind.REDIRECTS, regex(3, 800).id), put(regex(77, 10)))


def test_a_rollback_to_costlier_rules_is_allowed(above: Place) -> None:
    above.publish(Delete(Kind.REDIRECTS, regex(3, 800).id))
    number = above.state()[1]
    above.store.publishes.roll_back(SPACE, SHOP, str(number - 1), ADA)
    assert len(above.targets()) == 10


def test_what_was_published_is_served_again_from_git_alone(above: Place) -> None:
    for folder in above.paths.compiled.rglob("*"):
        if folder.is_file() and folder.name != "compile.lock":
            folder.unlink()
    assert len(limited(above).targets()) == 10


def test_lint_warns_and_validate_refuses(above: Place) -> None:
    found = [each for each in above.store.revisions.lint(SPACE, SHOP) if each.code.startswith("regex_too_costly")]
    assert {each.severity for each in found} == {Severity.WARNING}
    assert len(found) == 5
    checked = [each for each in read_checkout(above.clone()).check(LIMITS) if each.severity is Severity.ERROR]
    assert {each.code for each in checked} == {"regex_too_costly"}
    assert not [each for each in read_checkout(above.clone()).check(DEFAULT_LIMITS) if each.severity is Severity.ERROR]


def test_publishing_what_is_in_the_draft_repeats_the_check(strict: Place) -> None:
    """Two drafts that each fit, but not together."""
    other = MAIN._replace(draft="other")
    strict.save(*(put(regex(number)) for number in range(4)))
    strict.save(*(put(regex(number)) for number in range(10, 14)), draft=other)
    strict.publish()
    with pytest.raises(Invalid) as caught:
        strict.store.publishes.publish(SPACE, PublishRequest(other, ADA), lambda _: ())
    assert codes(caught) == {"regex_budget"}
