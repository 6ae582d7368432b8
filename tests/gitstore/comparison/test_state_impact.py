"""The impact of a draft, found by lints, is that of a comparison of both states rule by rule."""

from dataclasses import replace
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from content.changes.impact import Impact, find_impact
from content.records.record import Redirect
from content.records.vocabulary import Kind, RedirectStatus, RedirectType
from gitstore.comparison.state_impact import compare_lints, read_rules
from gitstore.compiled.segments.changes import changes_between
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.lint import lint_snapshot
from tests.gitstore.rule_states import page_lists, redirect_lists, some_page, some_redirect, state

_FILLER = [Redirect(RedirectType.BASIC, f"/f/{n}", f"/to/{n}", RedirectStatus.FOUND) for n in range(60)]


def by_lints(before: Snapshot | None, after: Snapshot) -> Impact:
    base = lint_snapshot(before) if before else None
    return compare_lints((before, base), (after, lint_snapshot(after, base)), changes(before, after))


def by_rules(before: Snapshot | None, after: Snapshot) -> Impact:
    return find_impact(read_rules(before), read_rules(after), changes(before, after))


def changes(before: Snapshot | None, after: Snapshot) -> list[Any]:
    found = changes_between(before, after)
    return [change for kind in Kind for change in found[kind]]


def wired(impact: Impact) -> list[list[dict[str, object]]]:
    """Return the three lists of an impact, as the API sends them."""
    lists = (impact.added_effects, impact.removed_effects, impact.changed_responses)
    return [[each.wire() for each in found] for found in lists]


@given(st.data())
def test_it_is_the_impact_found_rule_by_rule(data: st.DataObject) -> None:
    redirects, pages = data.draw(redirect_lists), data.draw(page_lists)
    before = state([*_FILLER, *redirects], pages, data.draw(st.sampled_from([0, 30])))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(redirects)))
        redirects[at : at + data.draw(st.integers(0, 1))] = data.draw(st.lists(some_redirect(), max_size=2))
    pages[:1] = data.draw(st.lists(some_page(), max_size=1))
    after = state([*_FILLER, *redirects], pages, data.draw(st.sampled_from([0, 30])))
    found = by_lints(before, after)
    event(f"effects: {bool(found.added_effects or found.removed_effects)}")
    assert wired(found) == wired(by_rules(before, after))


def test_of_a_project_without_a_base_all_effects_appear() -> None:
    a, b = (
        Redirect(RedirectType.BASIC, f"/{n}", target, RedirectStatus.FOUND) for n, target in (("a", "/b"), ("b", "/c"))
    )
    after = state([a, b], [])
    found = by_lints(None, after)
    assert [(each.problem.code, each.rule.record.identity) for each in found.added_effects] == [("chain", "/a")]
    assert wired(found) == wired(by_rules(None, after))


def test_a_source_that_is_used_twice_is_compared_rule_by_rule() -> None:
    a = Redirect(RedirectType.BASIC, "/a", "/b", RedirectStatus.FOUND)
    before, after = state([a], []), state([a, replace(a, target="/a")], [])
    assert lint_snapshot(after).lists == {}
    assert wired(by_lints(before, after)) == wired(by_rules(before, after))
