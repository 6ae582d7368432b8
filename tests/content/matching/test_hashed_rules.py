"""Rules found by the hash of their key: the same rules, and the same problems, as with all of them in memory."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from content.checks.set_rules import listed_problems, set_problems
from content.matching.canonical import exact_key
from content.matching.hashed_rules import HashedRules
from content.matching.matcher import Matcher
from content.matching.rule_book import RuleBook
from content.records.record import Page, Placed, Redirect
from tests.content.rules import page, placed_pages, placed_redirects, redirect, redirects

_PAGES = placed_pages(page("BASIC", "/a"), page("BASIC_HOST", "a.example/b"))
_chained = st.sampled_from(
    [
        redirect("BASIC", "/a", "/b"),
        redirect("BASIC", "/b", "/a"),
        redirect("BASIC", "/%61", "/c"),
        redirect("BASIC_HOST", "a.example/b", "https://a.example/a"),
        redirect("BASIC", "/c", "https://a.example/b"),
    ]
)


def _hashed(placed: Sequence[Placed[Redirect]], pages: Sequence[Placed[Page]]) -> HashedRules:
    return HashedRules(placed, pages, ((each.record.type, each.record.source) for each in placed))


@given(st.lists(redirects() | _chained, max_size=8))
def test_look_ups_and_problems_are_those_of_a_rule_book(rules: list[Redirect]) -> None:
    placed = placed_redirects(*rules)
    book, hashed = RuleBook(placed, _PAGES), _hashed(placed, _PAGES)
    keys = {exact_key(rule.type.has_host, rule.source) for rule in rules} | {"/a", "/missing", ""}
    for key in keys:
        assert list(hashed.redirects_at(key)) == list(book.redirects_at(key))
        assert list(hashed.pages_at(key)) == list(book.pages_at(key))
    assert set(hashed.hosts()) == set(book.hosts())
    matcher = Matcher(hashed)
    found = listed_problems(matcher, hashed, enumerate(placed))
    assert found == set_problems(Matcher(book), placed, ())


@given(st.lists(redirects() | _chained, max_size=8))
def test_a_key_of_its_own_is_that_of_no_other_rule(rules: list[Redirect]) -> None:
    placed = placed_redirects(*rules)
    keys = [exact_key(rule.type.has_host, rule.source) if rule.type.is_exact else "" for rule in rules]
    own = [bool(key) and keys.count(key) == 1 for key in keys]
    hashed = _hashed(placed, ())
    assert [hashed.has_own_key(position) for position in range(len(rules))] == own
