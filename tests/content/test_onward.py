"""The quick look at where exact rules lead never misses what walking finds."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from content.canonical import exact_key, split_host
from content.match import Match
from content.matching import Matcher, RuleBook
from content.onward import Onward
from content.record import Redirect
from content.request import parse_key
from content.set_rules import HOPS
from content.template import location_of
from tests.content import rules
from tests.content.rules import placed_redirects, redirect

_ORIGINS = st.sampled_from(["", "", "https://a.example", "http://b.example", "https://A.example", "https://c.example", "https://a.example:80", "ftp://a.example", "//a.example"])  # fmt: skip
_targets = st.builds(
    lambda origin, path, query, fragment: origin + path + query + fragment,
    _ORIGINS,
    st.one_of(st.just(""), rules.paths),
    rules.queries,
    st.sampled_from(["", "", "#", "#a?b"]),
)
_exact = st.builds(
    lambda host, path, query, target: redirect("BASIC_HOST" if host else "BASIC", host + path + query, target),
    st.sampled_from(["", *rules.HOSTS]),
    rules.paths,
    rules.queries,
    _targets,
)


@given(st.lists(_exact, max_size=8), st.lists(rules.redirects(), max_size=2))
@example([redirect("BASIC", "/a?x", "/a?x#y")], [])
@example([redirect("BASIC_HOST", "a.example/", "https://a.example")], [])
@example(
    [
        redirect("BASIC_HOST", "a.example/a", "https://b.example"),
        redirect("BASIC_HOST", "b.example/b", "/"),
        redirect("BASIC", "/", "/x"),
    ],
    [],
)
def test_a_target_that_ends_is_answered_by_no_redirect(exact: list[Redirect], others: list[Redirect]) -> None:
    """Where the quick look says that a chain ends, the walk finds nothing behind the first hop but a page."""
    placed = placed_redirects(*exact, *others)
    matcher = Matcher(RuleBook(placed, []))
    onward = Onward(matcher)
    for rule in placed:
        key = exact_key(rule.record.type.has_host, rule.record.source) if rule.record.type.is_exact else ""
        if key and onward.ends(split_host(key)[0], rule.record.target):
            chain = matcher.follow_from(parse_key(key), Match(rule, None, location_of(rule.record.target)), HOPS)
            assert len(chain.hops) == 1
            assert not chain.endless


@pytest.mark.parametrize(
    "target",
    [
        "/new",
        "/new?a=1",
        "/new?a#b",
        "/new#b",
        "https://c.example",
        "https://c.example/old?x=1",
        "https://a.example/new",
    ],
)
def test_an_ordinary_target_is_seen_to_end(target: str) -> None:
    """Else nothing would be gained."""
    matcher = rules.matcher(redirect("BASIC", "/old", target), redirect("BASIC_HOST", "a.example/x", target))
    assert Onward(matcher).ends("", target)
    assert Onward(matcher).ends("a.example", target)


@pytest.mark.parametrize("target", ["/old", "/old?y", "/a/../old#b", "https://a.example/old", "https://a.example/x"])
def test_a_target_that_a_rule_may_answer_is_walked(target: str) -> None:
    """Also where only a rule without a host, or without the query, does."""
    held = [redirect("BASIC", source, "/t") for source in ("/old", "/a/../old")]
    assert not Onward(rules.matcher(*held, redirect("BASIC_HOST", "a.example/x", "/t"))).ends("a.example", target)
