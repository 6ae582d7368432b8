"""Locations: captures are inserted, and lead neither to another host nor out of the header."""

import re
from urllib.parse import urljoin, urlsplit

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from content.checks.record_rules import record_problems
from content.matching.template import Template, location_of
from content.records.problem import errors
from tests.content.rules import redirect

UNSAFE = re.compile(r"[\x00-\x20\x7f-\x9f]")
NASTY = [
    "//evil.example",
    "/\\evil.example",
    ".evil.example",
    "@evil.example",
    ":8443",
    "\r\nSet-Cookie: a=b",
    "é",
    "\\",
]
anything = st.text() | st.sampled_from([*NASTY, "https://evil.example", "javascript:alert(1)", "///x", "?", "#"])
_parts = ["$1", "$2", "/", "//", "x", "?q=", "#", "é", ".", "$", "$10", ":", "%2F", "%"]
targets = st.builds(
    lambda start, parts: start + "".join(parts),
    st.sampled_from(
        ["/", "https://site.example", "http://b\u00fccher.example:8080", "$1", "https://$1.site.example", ""]
    ),
    st.lists(st.sampled_from([*_parts, "evil.example", "\\", "@"]), max_size=5),
)


@pytest.mark.parametrize(
    ("target", "groups", "location"),
    [
        ("/new/$1", ["a"], "/new/a"),
        ("/$2/$1", ["a", "b"], "/b/a"),
        ("/x/$10", ["a"], "/x/a0"),
        ("/x/$1", [None], "/x/"),
        ("/x/$3", ["a"], "/x/"),
        ("/x/$0$$", ["a"], "/x/$0$$"),
        ("/$1", ["/evil.example"], "/evil.example"),
        ("/$1", ["\\evil.example"], "/evil.example"),
        ("/$1", ["/\\/\\evil.example"], "/evil.example"),
        ("$1", ["//evil.example"], "/evil.example"),
        ("$1", ["https://evil.example"], "/https://evil.example"),
        ("$1", ["/a"], "/a"),
        ("$1", [""], "/"),
        ("https://site.example$1", [".evil.example"], "https://site.example/.evil.example"),
        ("https://site.example$1", ["@evil.example"], "https://site.example/@evil.example"),
        ("https://site.example$1", [":8443/x"], "https://site.example/:8443/x"),
        ("https://site.example$1", ["/a"], "https://site.example/a"),
        ("https://site.example$1", [""], "https://site.example"),
        ("https://site.example?u=$1", ["a"], "https://site.example?u=a"),
        ("https://site.example$1$2", ["", ".evil.example"], "https://site.example/.evil.example"),
        ("https://www.$1", ["site.example/a"], "https://www.site.example/a"),
        ("https://$1.site.example/", ["de"], "https://de.site.example/"),
        ("https://b\u00fccher.example:80/\u00fc$1", ["\u00e9"], "https://xn--bcher-kva.example:80/%C3%BC%C3%A9"),
        ("/a#\u2014b", [], "/a#%E2%80%94b"),
        ("/a\r\nb", [], "/a%0D%0Ab"),
    ],
)
def test_an_expansion_is_what_the_template_says(target: str, groups: list[str | None], location: str) -> None:
    assert Template.parse(target).expand(groups) == location


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("/a", "/a"),
        ("/a$1", "/a$1"),
        ("https://Site.Example:80/A%2f", "https://Site.Example:80/A%2f"),
        ("https://site.example", "https://site.example"),
        ("/DebugOnly<T>", "/DebugOnly%3CT%3E"),
        ("/\u4e2d", "/%E4%B8%AD"),
        ("//evil.example", "/evil.example"),
    ],
)
def test_an_exact_target_is_sent_as_written_but_for_what_a_url_cannot_hold(target: str, location: str) -> None:
    assert location_of(target) == location


def test_the_highest_reference_is_returned() -> None:
    assert Template.parse("/$1/$3/$2").highest_group == 3
    assert Template.parse("/$0/$").highest_group == 0


@given(targets | st.text(), st.lists(anything | st.none(), max_size=3))
def test_no_location_holds_what_a_header_cannot(target: str, groups: list[str | None]) -> None:
    for location in (Template.parse(target).expand(groups), location_of(target)):
        assert location.isascii()
        assert not UNSAFE.search(location)
        assert "\\" not in location


@given(targets, st.lists(anything | st.none(), min_size=3, max_size=3))
def test_the_host_of_an_expansion_is_the_host_of_its_template(target: str, groups: list[str | None]) -> None:
    """This holds for every accepted target without a capture in its host, which is reported as an open redirect."""
    template = Template.parse(target)
    assume(not template.has_open_host)
    assume(not errors(record_problems(redirect("REGEX", "^(.*)(.*)(.*)$", target))))
    base = "https://visited.example/here"
    fixed = target.partition("$")[0]
    wanted = urlsplit(template.origin).netloc if fixed.startswith("http") else "visited.example"
    assert urlsplit(urljoin(base, template.expand(groups))).netloc == wanted


@given(targets)
def test_a_location_is_stable_when_it_is_a_target_again(target: str) -> None:
    location = location_of(target)
    assert location_of(location) == location
