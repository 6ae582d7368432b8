"""The quick check for the end of a chain never misses an answer that a walk finds."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from content.checks.set_rules import MAX_HOPS
from content.matching.canonical import exact_key, split_host
from content.matching.match import Match
from content.matching.matcher import Matcher, RuleBook
from content.matching.onward import ChainEndCheck
from content.matching.request import parse_key
from content.matching.template import location_of
from content.records.record import Redirect
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
    """If the quick check reports the end of a chain, the walk finds at most a page after the first hop."""
    placed = placed_redirects(*exact, *others)
    matcher = Matcher(RuleBook(placed, []))
    onward = ChainEndCheck(matcher)
    for rule in placed:
        key = exact_key(rule.record.type.has_host, rule.record.source) if rule.record.type.is_exact else ""
        if key and onward.ends_chain(split_host(key)[0], rule.record.target):
            chain = matcher.follow_from(parse_key(key), Match(rule, None, location_of(rule.record.target)), MAX_HOPS)
            assert len(chain.hops) == 1
            assert not chain.is_endless


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
    """Otherwise the quick check would save nothing."""
    matcher = rules.matcher(redirect("BASIC", "/old", target), redirect("BASIC_HOST", "a.example/x", target))
    assert ChainEndCheck(matcher).ends_chain("", target)
    assert ChainEndCheck(matcher).ends_chain("a.example", target)


@pytest.mark.parametrize("target", ["/old", "/old?y", "/a/../old#b", "https://a.example/old", "https://a.example/x"])
def test_a_target_that_a_rule_may_answer_is_walked(target: str) -> None:
    """The rule may have no host, or no query."""
    held = [redirect("BASIC", source, "/t") for source in ("/old", "/a/../old")]
    assert not ChainEndCheck(rules.matcher(*held, redirect("BASIC_HOST", "a.example/x", "/t"))).ends_chain(
        "a.example", target
    )
