"""The winning rule: the contract's order, compared with a naive matcher, and the reasons given for the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.matching.canonical import exact_key
from content.matching.match import Match
from content.matching.matcher import Matcher, RuleBook
from content.matching.patterns import Patterns
from content.matching.request import Request, parse_request
from content.records.record import Page, Placed, Redirect
from tests.content.oracle import naive_matches
from tests.content.rules import (
    HOSTS,
    matcher,
    page,
    pages,
    paths,
    placed_pages,
    placed_redirects,
    queries,
    redirect,
    redirects,
)

urls = st.builds(
    lambda host, path, query: (f"https://{host}" if host else "") + (path if host else "/" + path.lstrip("/")) + query,
    st.sampled_from(["", *HOSTS, "c.example"]),
    paths,
    queries,
)


def _rank(rule: Redirect) -> tuple[str, str | int]:
    """Return a key; rules with different keys have an order that does not depend on storage."""
    is_exact = rule.type.is_exact
    return rule.type, exact_key(rule.type.has_host, rule.source) if is_exact else len(rule.source)


def winner(*rules: Redirect | Page, url: str) -> str:
    """Return the identity of the winning rule, empty without one."""
    match = matcher(*rules).match(parse_request(url))
    return match.rule.record.identity if match else ""


@given(st.lists(redirects(), max_size=12), st.lists(pages(), max_size=4), urls)
def test_the_matcher_agrees_with_a_naive_one(rules: list[Redirect], texts: list[Page], url: str) -> None:
    request = parse_request(url)
    asked = Matcher(RuleBook(placed_redirects(*rules), placed_pages(*texts)))
    answer = asked.answer(request)
    matches = [answer.winner, *(candidate.match for candidate in answer.candidates)] if answer.winner else []
    assert [match.rule.record for match in matches if match] == naive_matches(rules, texts, request)
    assert asked.match(request) == answer.winner


@given(st.lists(redirects(), max_size=12, unique_by=_rank), urls, st.randoms())
def test_the_order_of_storage_decides_only_between_equals(rules: list[Redirect], url: str, random: object) -> None:
    request = parse_request(url)
    before = matcher(*rules).match(request)
    shuffled = rules.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined] # hypothesis gives a random.Random and types it as an object
    after = matcher(*shuffled).match(request)
    assert (before and before.rule.record) == (after and after.rule.record)


def test_a_basic_source_is_equal_or_does_not_match() -> None:
    rule = redirect("BASIC", "/a", "/b")
    assert winner(rule, url="/a") == "/a"
    assert winner(rule, url="https://any.example/a") == "/a"
    for url in ("/a/", "/a/b", "/A", "//a", "/"):
        assert not winner(rule, url=f"https://any.example{url}")


def test_a_host_source_asks_for_its_host() -> None:
    rule = redirect("BASIC_HOST", "a.example/x", "https://b.example/")
    assert winner(rule, url="https://A.example.:8443/x") == "a.example/x"
    for url in ("https://b.example/x", "https://a.example/x/", "https://www.a.example/x", "/x"):
        assert not winner(rule, url=url)


def test_a_regex_is_searched_in_the_path_without_the_query() -> None:
    rule = redirect("REGEX", r"^/p/(\d+)$", "/q?id=$1")
    match = matcher(rule).match(parse_request("https://a.example/p/42?x=1"))
    assert match
    assert (match.location, match.captures, match.status) == ("/q?id=42", ("42",), 301)
    assert not winner(rule, url="/p/x")
    assert winner(redirect("REGEX", "b", "/c"), url="/abc") == "b"


def test_a_host_regex_is_searched_in_host_and_path() -> None:
    rule = redirect("REGEX_HOST", r"^(\w+)\.example/(.*)$", "https://x.example/$1/$2")
    match = matcher(rule).match(parse_request("https://A.example/p?q"))
    assert match
    assert match.location == "https://x.example/a/p"
    assert not winner(rule, url="/p")


def test_hosts_come_before_paths_and_exact_before_regex() -> None:
    rules: list[Redirect | Page] = [
        page("BASIC", "/a"),
        redirect("REGEX", "^/a.{0}$", "/t"),
        redirect("REGEX_HOST", "^h.e/a$", "https://t.e/"),
        redirect("BASIC", "/a", "/t"),
        redirect("BASIC_HOST", "h.e/a", "https://t.e/"),
    ]
    for count in range(len(rules), 0, -1):
        assert winner(*rules[:count], url="https://h.e/a") == rules[count - 1].identity


def test_a_query_in_the_source_has_to_be_equal_and_comes_first() -> None:
    rules = [redirect("BASIC", "/a", "/t"), redirect("BASIC", "/a?q=1", "/t")]
    assert winner(*rules, url="/a?q=1") == "/a?q=1"
    assert winner(*rules, url="/a?q=1&r") == "/a"
    assert winner(*rules, url="/a") == "/a"
    assert not winner(rules[1], url="/a")


def test_among_regexes_the_longer_source_comes_first_then_the_earlier() -> None:
    short, long = redirect("REGEX", "^/a", "/t"), redirect("REGEX", "^/(.*)$", "/t")
    assert winner(short, long, url="/a") == "^/(.*)$"
    twin = redirect("REGEX", "^/bcd|a", "/t")
    assert winner(long, twin, url="/a") == "^/(.*)$"
    assert winner(twin, long, url="/a") == "^/bcd|a"


def test_a_page_answers_200_and_a_host_page_comes_first() -> None:
    pages_ = [page("BASIC", "/robots.txt"), page("BASIC_HOST", "h.e/robots.txt")]
    match = matcher(*pages_).match(parse_request("https://h.e/robots.txt"))
    assert match
    assert (match.status, match.location, match.rule.record) == (200, "", pages_[1])


@pytest.mark.parametrize(("status", "code"), [("MOVED_PERMANENT", 301), ("FOUND", 302), ("PERMANENT_REDIRECT", 308)])
def test_the_status_is_the_rules_own(status: str, code: int) -> None:
    match = matcher(redirect("BASIC", "/a", "/b", status)).match(Request(None, "/a", None))
    assert match
    assert match.status == code


def test_equivalent_spellings_of_a_path_are_one() -> None:
    rule = redirect("BASIC", "/en-US/docs/JavaScript_\u53c2\u8003 1", "/t")
    assert winner(rule, url="/en-US/d%6Fcs/JavaScript_%e5%8f%82%E8%80%83%201")


def test_the_reason_why_a_rule_lost_is_given() -> None:
    rules: list[Redirect | Page] = [
        redirect("BASIC", "/a?q", "/1"),
        redirect("BASIC", "/a", "/2"),
        redirect("BASIC", "/%61", "/3"),
        redirect("REGEX", "^/a$", "/4"),
        page("BASIC", "/a"),
    ]
    answer = matcher(*rules).answer(parse_request("/a?q"))
    assert answer.winner
    assert answer.winner.rule.record == rules[0]
    assert [(candidate.match.rule.record.identity, candidate.reason) for candidate in answer.candidates] == [
        ("/a", "a source with the query string comes first"),
        ("/%61", "a source with the query string comes first"),
        ("^/a$", "BASIC comes before REGEX"),
        ("/a", "redirects come before pages"),
    ]
    regexes = [redirect("REGEX", "^/a", "/1"), redirect("REGEX", "^/a$", "/2"), redirect("REGEX", "a", "/3")]
    whys = [candidate.reason for candidate in matcher(*regexes).answer(Request(None, "/a", None)).candidates]
    assert whys == ["the longer source comes first", "the longer source comes first"]
    equals = [redirect("REGEX", "^/a", "/1"), redirect("REGEX", "/a$", "/2"), redirect("BASIC", "/b", "/")]
    assert matcher(*equals).answer(Request(None, "/a", None)).candidates[0].reason.startswith("the earlier")


def test_nothing_matches_without_rules() -> None:
    assert matcher().answer(Request("h.e", "/a", "q")).winner is None
    assert matcher().match(Request(None, "/", None)) is None


def test_a_rule_that_is_invalid_in_itself_never_matches_and_harms_nothing() -> None:
    rules = [
        redirect("BASIC", "h.e/a", "/1"),
        redirect("BASIC_HOST", "https://h.e/a", "/2"),
        redirect("REGEX", "(", "/3"),
        redirect("REGEX", r"\C", "/4"),
        redirect("REGEX", "x{1000}" * 250 + "|a", "/5"),
        redirect("REGEX", "^/a", "/$9"),
    ]
    assert winner(*rules, url="https://h.e/a") == "^/a"


def test_the_location_of_a_draft_with_a_bad_target_is_still_harmless() -> None:
    match = matcher(redirect("BASIC", "/a", "//evil.example\r\n")).match(Request(None, "/a", None))
    assert match
    assert match.location == "/evil.example%0D%0A"


class CountedSource(RuleBook):
    """A rule book that counts the reads of its patterns."""

    asked = 0

    def patterns(self) -> Patterns:
        """Return the patterns of the book, and count the read."""
        self.asked += 1
        return super().patterns()


def test_patterns_are_read_once_and_only_when_no_exact_rule_answers() -> None:
    source = CountedSource([Placed(redirect("BASIC", "/a", "/b")), Placed(redirect("REGEX", "^/c", "/d"))], [])
    lazy = Matcher(source)
    assert lazy.match(Request(None, "/a", None))
    assert source.asked == 0
    for _ in range(3):
        assert isinstance(lazy.match(Request(None, "/c", None)), Match)
    assert source.asked == 1


def test_the_hosts_of_a_book_are_those_of_its_exact_rules_and_pages() -> None:
    rules = [redirect("BASIC_HOST", "A.e/x", "https://z.e/"), redirect("REGEX_HOST", "^b.e", "https://z.e/")]
    assert set(matcher(*rules, page("BASIC_HOST", "c.e/x"), page("BASIC", "/x")).source.hosts()) == {"a.e", "c.e"}
