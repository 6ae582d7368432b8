"""The impact of changes on rules that they do not name."""

from collections.abc import Sequence

import pytest

from content.changes import impact as impact_module
from content.changes.diff import diff
from content.changes.impact import Impact, RuleSet, find_changed_responses, find_impact
from content.matching.matcher import Matcher
from content.matching.rule_book import RuleBook
from content.records.record import Page, Record, Redirect
from content.records.vocabulary import Kind
from tests.content.rules import matcher, page, placed_pages, placed_redirects, redirect


def impact(before: list[Record], after: list[Record]) -> Impact:
    old, new = (
        {record.identity: record for record in side if isinstance(record, Redirect)} for side in (before, after)
    )
    changes = diff(Kind.REDIRECTS, old, new)
    pages = ({record.identity: record for record in side if isinstance(record, Page)} for side in (before, after))
    return find_impact(state(before), state(after), [*changes, *diff(Kind.PAGES, *pages)])


def state(records: list[Record]) -> RuleSet:
    redirects = [record for record in records if isinstance(record, Redirect)]
    pages = [record for record in records if isinstance(record, Page)]
    return RuleSet(matcher(*records), placed_redirects(*redirects), placed_pages(*pages))


def named(found: Impact) -> tuple[list[tuple[str, str]], list[tuple[str, str]], list[str]]:
    """Return the code and rule of each problem that appears and that goes, and the changed answers as text."""
    added_effects, removed_effects = (
        [(each.problem.code, each.rule.record.identity) for each in side]
        for side in (found.added_effects, found.removed_effects)
    )
    return added_effects, removed_effects, [each.text for each in found.changed_responses]


A = redirect("BASIC", "/a", "/b")
B = redirect("BASIC", "/b", "/c")


def test_a_chain_appears_with_its_second_rule_and_goes_with_it() -> None:
    assert named(impact([A], [A, B])) == ([("chain", "/a")], [], ["/b: nothing -> 301 /c"])
    assert named(impact([A, B], [A])) == ([], [("chain", "/a")], ["/b: 301 /c -> nothing"])


def test_a_loop_takes_the_place_of_a_chain() -> None:
    added_effects, removed_effects, changed_responses = named(impact([A, B], [A, redirect("BASIC", "/b", "/a")]))
    assert added_effects == [("redirect_loop", "/a"), ("redirect_loop", "/b")]
    assert (removed_effects, changed_responses) == ([("chain", "/a")], ["/b: 301 /c -> 301 /a"])


def test_an_old_problem_is_not_reported_again() -> None:
    """A problem at another line or with another sentence is the same problem."""
    more = redirect("BASIC", "/0", "/x")
    assert named(impact([A, B], [more, A, redirect("BASIC", "/b", "/d")])) == (
        [],
        [],
        ["/b: 301 /c -> 301 /d", "/0: nothing -> 301 /x"][::-1],
    )


def test_a_rule_that_hides_a_page_or_a_regex() -> None:
    regex, all_of_it = redirect("REGEX", "^/shop/old$", "/x"), redirect("BASIC", "/shop/old", "/y")
    added_effects, _, changed_responses = named(impact([regex], [regex, all_of_it]))
    assert (added_effects, changed_responses) == (
        [("regex_unreachable", "^/shop/old$")],
        ["/shop/old: 301 /x -> 301 /y"],
    )
    added_effects, _, changed_responses = named(impact([page("BASIC", "/a")], [page("BASIC", "/a"), A]))
    assert (added_effects, changed_responses) == ([("page_unreachable", "/a")], ["/a: 200 page -> 301 /b"])


def test_a_problem_of_a_page_hidden_by_a_redirect_names_both_kinds() -> None:
    """A user without permission to read one of the kinds does not see the problem."""
    found = impact([page("BASIC", "/a")], [page("BASIC", "/a"), A])
    assert [each.kinds for each in found.added_effects] == [frozenset(Kind)]
    assert [each.kinds for each in found.changed_responses] == [frozenset(Kind)]


def test_a_regex_is_asked_for_the_texts_that_it_names() -> None:
    before, after = redirect("REGEX", "^/x/?$", "/b"), redirect("REGEX", "^/x/?$", "/c")
    assert named(impact([before], [after]))[2] == ["/x: 301 /b -> 301 /c", "/x/: 301 /b -> 301 /c"]


def test_a_note_changes_no_answer() -> None:
    noted = Redirect(A.type, A.source, A.target, A.status, "why")
    assert named(impact([A], [noted])) == ([], [], [])


def test_wire_form_names_the_rule_by_its_own_field() -> None:
    (effect, *_) = impact([A], [A, B]).added_effects
    assert effect.wire() == {
        "kind": "redirect",
        "id": A.id,
        "source": "/a",
        "code": "chain",
        "severity": "warning",
        "file": effect.rule.file,
        "line": effect.rule.line,
        "message": effect.problem.message,
    }
    assert (effect.rule.file, effect.rule.line) == ("shop/redirects.yaml", 10)
    hidden = page("BASIC", "/b")
    (effect,) = impact([hidden], [hidden, B]).added_effects
    wire = effect.wire()
    assert (wire["kind"], wire["path"], wire["id"], wire["code"]) == ("page", "/b", hidden.id, "page_unreachable")
    assert "source" not in wire


def test_wire_form_of_a_changed_response_has_both_sides() -> None:
    (changed,) = impact([], [page("BASIC", "/b")]).changed_responses
    served = {"status": 200, "location": None}
    assert changed.wire() == {"request": "/b", "before": None, "after": served, "text": "/b: nothing -> 200 page"}
    (changed,) = impact([page("BASIC", "/b")], [B]).changed_responses
    found = {"status": 301, "location": "/c"}
    assert changed.wire() == {"request": "/b", "before": served, "after": found, "text": "/b: 200 page -> 301 /c"}


@pytest.mark.parametrize("at_once", [1, 2, 3, 10])
def test_one_state_is_asked_for_many_requests_before_the_other(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """The rules of both may be more than stay in memory."""
    monkeypatch.setattr(impact_module, "_REQUESTS_OF_ONE_STATE", at_once)
    asked = list[str]()

    class Asked(RuleBook):
        def __init__(self, name: str, *records: Redirect) -> None:
            super().__init__(placed_redirects(*records), [])
            self.name = name

        def redirects_at(self, key: str) -> Sequence[int]:
            if asked[-1:] != [self.name]:
                asked.append(self.name)
            return super().redirects_at(key)

    old = [redirect("BASIC", f"/{number}", "/x") for number in range(6)]
    new = [redirect("BASIC", f"/{number}", "/y") for number in range(6)]
    states = {record.source: record for record in old}, {record.source: record for record in new}
    changes = list(diff(Kind.REDIRECTS, *states))
    found = list(find_changed_responses(Matcher(Asked("old", *old)), Matcher(Asked("new", *new)), changes))
    assert [each.text for each in found] == [f"/{number}: 301 /x -> 301 /y" for number in range(6)]
    assert asked == ["old", "new"] * -(-6 // at_once)
