"""The host that a target leads to, and targets that a rule with a pattern may answer."""

import pytest

from content.matching.matcher import Matcher
from content.matching.onward import ANY_HOST, ChainEndCheck, target_host
from tests.content.rules import matcher, redirect


@pytest.mark.parametrize(
    ("kind", "target", "host"),
    [
        ("BASIC", "/b", ""),
        ("BASIC", "https://a.example", "a.example"),
        ("BASIC", "http://a.example/b?c", "a.example"),
        ("BASIC", "https://A.Example:8443/b", "a.example"),
        ("BASIC", "https://bücher.example/", "xn--bcher-kva.example"),
        ("BASIC", "https://a b/", ""),
        ("BASIC", "https://$1/", ""),
        ("REGEX", "https://$1/", ANY_HOST),
        ("REGEX", "https://$1.a.example/", ANY_HOST),
        ("REGEX", "https://A.example/$1", "a.example"),
        ("REGEX", "https://a.example$1", "a.example"),
        ("REGEX", "/$1", ""),
    ],
)
def test_target_names_a_host_or_leaves_it_to_the_visitor(kind: str, target: str, host: str) -> None:
    assert target_host(redirect(kind, "^/a" if kind == "REGEX" else "/a", target)) == host


@pytest.fixture
def rules() -> Matcher:
    """One pattern with a host, and one without."""
    return matcher(
        redirect("REGEX_HOST", r"^a\.example/hosted", "https://x.example/"), redirect("REGEX", "^/any", "/x")
    )


@pytest.mark.parametrize(
    ("host", "target", "ends"),
    [
        ("a.example", "/hosted", False),
        ("b.example", "/hosted", True),
        ("", "/hosted", True),
        ("a.example", "/any", False),
        ("", "/any", False),
        ("", "https://a.example/hosted", False),
        ("", "https://elsewhere.example/any", True),
        ("", "/other", True),
    ],
)
def test_patterns_are_asked_about_the_host_too(rules: Matcher, host: str, target: str, ends: bool) -> None:  # noqa: FBT001 - a table's column
    """Guard: a loop through a pattern with a host would be missed otherwise. Without a host, a walk asks none of these."""
    assert ChainEndCheck(rules).ends_chain(host, target) is ends
