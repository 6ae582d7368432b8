"""The canonical form of records: each means the same as the written one, in the spelling that clients send."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.checks.record_rules import record_problems
from content.matching.canonical import exact_key
from content.matching.canonical_record import canonical_record
from content.matching.template import Template, location_of
from content.records.record import Page, Redirect
from tests.content import rules

_URL = r"[!-~]*"
_target_texts = st.text(st.sampled_from("aé/%4.$1?#=ü ß"), max_size=8)
targets = st.one_of(
    _target_texts.map(lambda text: f"/{text}"),
    st.tuples(st.sampled_from(["https", "HTTP"]), st.sampled_from(["é.example", "A.example:80", "a.example"])).flatmap(
        lambda pair: _target_texts.map(lambda text: f"{pair[0]}://{pair[1]}/{text}")
    ),
    st.sampled_from(["https://a.example$1", "https://$1.é.example/é", "$1/é", "https://é.example$1$2/x"]),
)


@pytest.mark.parametrize(
    ("type_", "source", "wanted"),
    [
        ("BASIC", "/de/docs/Qualitätssicherung", "/de/docs/Qualit%C3%A4tssicherung"),
        ("BASIC", "/%c3%a4%2f%2d", "/%C3%A4%2F-"),
        ("BASIC", '/a b|c"d?e=é', "/a%20b%7Cc%22d?e=%C3%A9"),
        ("BASIC", "/%", "/%25"),
        ("BASIC", "/é#f", "/é#f"),
        ("BASIC_HOST", "Bücher.example:80/é", "xn--bcher-kva.example/%C3%A9"),
        ("REGEX", "^/é(.*)$", "^/é(.*)$"),
        ("REGEX_HOST", r"^bücher\.example/", r"^bücher\.example/"),
    ],
)
def test_exact_sources_are_spelled_as_clients_request_them(type_: str, source: str, wanted: str) -> None:
    found = canonical_record(rules.redirect(type_, source, "/t"))
    assert isinstance(found, Redirect)
    assert found.source == wanted
    if type_.startswith("BASIC"):
        page = canonical_record(rules.page(type_, source))
        assert isinstance(page, Page)
        assert page.path == wanted


@pytest.mark.parametrize(
    ("type_", "target", "wanted"),
    [
        ("BASIC", "/é$1", "/%C3%A9$1"),
        ("BASIC", "https://bücher.example/é#ü", "https://xn--bcher-kva.example/%C3%A9#%C3%BC"),
        ("REGEX", "/é/$1", "/%C3%A9/$1"),
        ("REGEX", "$1/é", "$1/%C3%A9"),
        ("REGEX", "https://bücher.example$1é", "https://xn--bcher-kva.example$1%C3%A9"),
        ("REGEX", "https://$1.example/é", "https://$1.example/%C3%A9"),
    ],
)
def test_targets_are_as_a_location_carries_them(type_: str, target: str, wanted: str) -> None:
    found = canonical_record(rules.redirect(type_, "/a", target))
    assert isinstance(found, Redirect)
    assert found.target == wanted


@given(rules.redirects(), targets)
def test_a_canonical_redirect_means_the_same(redirect: Redirect, target: str) -> None:
    """It has the key and the Location of the written one, is stable, and the same object where nothing differs."""
    redirect = rules.redirect(redirect.type, redirect.source, target)
    found = canonical_record(redirect)
    assert isinstance(found, Redirect)
    assert canonical_record(found) is found
    assert (found.type, found.status) == (redirect.type, redirect.status)
    if redirect.type.is_exact:
        assert exact_key(found.type.has_host, found.source) == exact_key(redirect.type.has_host, redirect.source)
        assert found.target == location_of(redirect.target) == location_of(found.target)
    else:
        assert found.source == redirect.source
        for captures in (("x", "y%20"), ("/x", "?y"), (".evil.example", None)):
            wanted = Template.parse(redirect.target).expand(captures)
            assert Template.parse(found.target).expand(captures) == wanted
    assert found.target.isascii()


@given(rules.redirects(), targets)
def test_a_canonical_redirect_has_no_errors_that_the_written_one_does_not_have(redirect: Redirect, target: str) -> None:
    """Guard: what an agent gets is a valid rule too."""
    redirect = rules.redirect(redirect.type, redirect.source, target)
    found = canonical_record(redirect)
    before = {problem.code for problem in record_problems(redirect)}
    assert {problem.code for problem in record_problems(found)} <= before
