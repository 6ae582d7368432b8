"""Near misses: rules that answer a URL in another spelling, where no rule answers it as it is."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.matching.matcher import Matcher, RuleBook
from content.matching.near_misses import MOST_NEAR_MISSES, find_near_misses
from content.matching.request import parse_request
from content.records.record import Page, Record
from tests.content.rules import matcher, page, pages, paths, placed_redirects, queries, redirect, redirects

records = st.one_of(redirects(), pages())
urls = st.builds(
    lambda host, path, query: host + path + query,
    st.sampled_from(["", "https://a.example", "https://www.b.example"]),
    paths,
    queries,
)


@given(rules=st.lists(records, max_size=8), url=urls)
def test_a_near_miss_does_not_match_but_answers_the_request_that_is_named(rules: list[Record], url: str) -> None:
    asked, request = matcher(*rules), parse_request(url)
    found = find_near_misses(asked, request)
    assert len(found) <= MOST_NEAR_MISSES
    if asked.match(request):
        assert found == []
    for near in found:
        assert near.request != request
        assert asked.match(near.request) == near.match
        assert near.reason
    assert len({(isinstance(each.match.rule.record, Page), each.match.rule.record.identity) for each in found}) == len(
        found
    )


@given(rules=st.lists(records, max_size=4), url=urls)
def test_a_rule_with_or_without_the_slash_or_in_lower_case_is_always_found(rules: list[Record], url: str) -> None:
    asked, request = matcher(*rules), parse_request(url)
    path = request.path.rstrip("/") or "/" if request.path.endswith("/") else f"{request.path}/"
    others = [request._replace(path=path), request._replace(path=request.path.lower())]
    if asked.match(request) is None and "%" not in request.path:
        assert bool(find_near_misses(asked, request)) >= any(asked.match(each) for each in others)


SHOP = [redirect("BASIC_HOST", "shop.example/host", "/")]


@pytest.mark.parametrize(
    ("source", "url", "reason"),
    [
        ("/a/", "/a", "it matches with a slash at the end"),
        ("/a", "/a/?x", "it matches without the slash at the end"),
        ("/a/b", "//a//b", "it matches with single slashes"),
        ("/sale/%C3%A9t%C3%A9", "/Sale/%C3%89T%C3%89", "it matches in lower case"),
        ("/sale/", "/SALE", "it matches in lower case and with a slash at the end"),
        ("/About-Us", "/about-us", "it matches with capital letters"),
        ("/FAQ", "/faq", "it matches with capital letters"),
        ("/caf\u00e9", "/cafe\u0301", "it matches with its characters in the Unicode form NFC"),
        ("/cafe\u0301", "/caf%C3%A9", "it matches with its characters in the Unicode form NFD"),
        ("/caf\u00e9", "/caf%E9", "it matches with its characters in UTF-8, not in Latin-1"),
        ("/a/b", "/a%2Fb", "it matches with another percent-encoding, /a/b"),
        ("/a%28b%29", "/a(b)", "it matches with another percent-encoding, /a%28b%29"),
        ("/a%20b", "/a+b", "it matches with another percent-encoding, /a%20b"),
        ("/a+b", "/a%20b", "it matches with another percent-encoding, /a+b"),
        ("/caf\u00e9", "/caf%25C3%25A9", "it matches with another percent-encoding, /caf%C3%A9"),
        ("/%25C3", "/%C3", "it matches with another percent-encoding, /%25C3"),
        ("/a?", "/a", "it matches with an empty query string"),
        ("/a?id=1", "/a?id=1&utm_source=x", "it matches with the query string ?id=1"),
        ("/a?a=1&b=2", "/a?b=2&a=1", "it matches with the query string ?a=1&b=2"),
        ("/a?b=2&c=3", "/a?b=2&a=1&c=3", "it matches with the query string ?b=2&c=3"),
    ],
)
def test_the_reason_names_the_difference(source: str, url: str, reason: str) -> None:
    (near,) = find_near_misses(matcher(redirect("BASIC", source, "/t")), parse_request(url))
    assert (near.match.rule.record.identity, near.reason) == (source, reason)


LONG = "x" * 900


@pytest.mark.parametrize(
    ("source", "url", "reason"),
    [
        (f"/a?b={LONG}", f"/a?b={LONG}&id=1", f"it matches with the query string …{'x' * 100}"),
        (f"/a?b={LONG}", f"/a?id=1&b={LONG}", f"it matches with the query string ?b={'x' * 97}…"),
        (f"/a?b={LONG}&c={LONG}", f"/a?b={LONG}&id=1&c={LONG}", f"it matches with the query string …{'x' * 19}&c={'x' * 78}…"),
        (f"/{LONG}%28b%29{LONG}", f"/{LONG}(b){LONG}", f"it matches with another percent-encoding, …{'x' * 20}%28b%29{'x' * 73}…"),
    ],
)  # fmt: skip
def test_the_reason_has_the_part_of_a_long_spelling_that_differs(source: str, url: str, reason: str) -> None:
    (near,) = find_near_misses(matcher(redirect("BASIC", source, "/t")), parse_request(url))
    assert near.reason == reason
    assert near.request == parse_request(source)


@pytest.mark.parametrize(
    ("url", "names"),
    [
        ("/host", ["shop.example"]),
        ("https://else.example/host", ["shop.example"]),
        ("https://www.shop.example/host", ["shop.example"]),
    ],
)
def test_a_rule_of_another_host_is_named_with_its_host(url: str, names: list[str]) -> None:
    found = find_near_misses(matcher(*SHOP), parse_request(url))
    assert [each.reason for each in found] == [f"it matches on the host {name}" for name in names]


def test_of_many_hosts_only_that_with_or_without_www_is_tried() -> None:
    many = [redirect("BASIC_HOST", f"{number}.example/host", "/") for number in range(20)]
    asked = matcher(*SHOP, *many)
    assert find_near_misses(asked, parse_request("/host")) == []
    (near,) = find_near_misses(asked, parse_request("https://www.7.example/host"))
    assert near.reason == "it matches on the host 7.example"


def test_regular_expressions_and_pages_are_found_too() -> None:
    asked = matcher(redirect("REGEX", "^/shop/(.*)$", "/$1"), page("BASIC", "/robots.txt"))
    (near,) = find_near_misses(asked, parse_request("/shop"))
    assert (near.match.rule.record.identity, near.request.path) == ("^/shop/(.*)$", "/shop/")
    (near,) = find_near_misses(asked, parse_request("/Robots.TXT"))
    assert near.match.page


def test_a_regular_expression_of_another_host_is_left_out_since_it_may_match_every_path() -> None:
    asked = matcher(*SHOP, redirect("REGEX_HOST", r"^(www\.)?shop\.example/.+$", "https://t.example/"))
    assert find_near_misses(asked, parse_request("/any")) == []
    asked = matcher(redirect("REGEX_HOST", r"^www\.shop\.example/.+$", "https://t.example/"))
    (near,) = find_near_misses(asked, parse_request("https://shop.example/any"))
    assert near.reason == "it matches on the host www.shop.example"


class CountedSource(RuleBook):
    """A rule book that counts the look-ups of keys."""

    asked = 0

    def redirects_at(self, key: str) -> Sequence[int]:
        """Return the positions of a key, and count the look-up."""
        self.asked += 1
        return super().redirects_at(key)


def test_as_many_keys_are_looked_up_whatever_the_number_of_rules() -> None:
    counts = set()
    for size in (0, 10, 1000):
        source = CountedSource(placed_redirects(*(redirect("BASIC", f"/{number}", "/t") for number in range(size))), [])
        assert find_near_misses(Matcher(source), parse_request("https://www.h.example/A%20%28b%29?a=1&b=2&c=3")) == []
        counts.add(source.asked)
    assert len(counts) == 1
    assert max(counts) <= 4 * 60


def test_a_long_path_is_not_spelled_in_other_ways() -> None:
    long = "/" + "a" * 3000
    assert find_near_misses(matcher(redirect("BASIC", long, "/t")), parse_request(f"{long}/")) == []
