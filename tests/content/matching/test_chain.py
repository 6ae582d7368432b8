"""Following answers: hosts are kept or left, loops are found, and every walk ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.matching.match import Chain
from content.matching.request import parse_request
from content.records.record import Redirect
from tests.content.rules import matcher, page, redirect, redirects

BASIC_LOOP = [redirect("BASIC", "/a", "/b"), redirect("BASIC", "/b", "/a")]


def follow(*rules: Redirect, url: str, hops: int = 10) -> Chain:
    return matcher(*rules).follow(parse_request(url), hops)


def requests(chain: Chain) -> list[str]:
    return [hop.request.text for hop in chain.hops]


def test_a_chain_ends_where_nothing_answers() -> None:
    chain = follow(redirect("BASIC", "/a", "/b#x"), redirect("REGEX", "^/b$", "/c?d"), url="https://h.e/a")
    assert requests(chain) == ["h.e/a", "h.e/b"]
    assert chain.hops[-1].match.location == "/c?d"
    assert not chain.is_endless


def test_a_page_is_the_last_hop() -> None:
    chain = matcher(redirect("BASIC", "/a", "/p"), page("BASIC", "/p")).follow(parse_request("/a"))
    assert [hop.match.status for hop in chain.hops] == [301, 200]
    assert not chain.is_endless


def test_a_loop_names_the_hop_that_it_leads_back_to() -> None:
    chain = follow(redirect("BASIC", "/start", "/a"), *BASIC_LOOP, url="/start")
    assert requests(chain) == ["/start", "/a", "/b"]
    assert (chain.is_loop, chain.loop_start, chain.is_truncated) == (True, 1, False)


def test_a_rule_that_sends_to_itself_loops_at_once() -> None:
    chain = follow(redirect("BASIC", "/a", "/%61#x"), url="/a")
    assert (requests(chain), chain.loop_start) == (["/a"], 0)


def test_a_chain_that_grows_forever_is_cut() -> None:
    chain = follow(redirect("REGEX", "^/(.*)$", "/new/$1"), url="/a", hops=4)
    assert (len(chain.hops), chain.is_loop, chain.is_truncated) == (4, False, True)


def test_a_chain_of_exactly_as_many_hops_is_not_cut() -> None:
    rules = [redirect("BASIC", f"/{number}", f"/{number + 1}") for number in range(4)]
    assert not follow(*rules, url="/0", hops=4).is_truncated
    assert follow(*rules, url="/0", hops=3).is_truncated


PATH_RULE = redirect("BASIC", "/b", "/c")


def test_a_page_after_the_last_hop_is_still_shown() -> None:
    chain = matcher(redirect("BASIC", "/a", "/p"), page("BASIC", "/p")).follow(parse_request("/a"), hops=1)
    assert ([hop.match.status for hop in chain.hops], chain.is_truncated) == ([301, 200], False)


def test_another_host_ends_the_chain() -> None:
    chain = follow(redirect("BASIC", "/a", "https://other.e/b"), PATH_RULE, url="https://h.e/a")
    assert len(chain.hops) == 1


def test_the_same_host_goes_on() -> None:
    chain = follow(redirect("BASIC", "/a", "https://H.e:443/b"), PATH_RULE, url="https://h.e/a")
    assert requests(chain) == ["h.e/a", "h.e/b"]


def test_a_host_of_an_exact_rule_goes_on() -> None:
    served = redirect("BASIC_HOST", "other.e/z", "https://z.e/")
    chain = follow(redirect("BASIC", "/a", "https://other.e/b"), PATH_RULE, served, url="/a")
    assert requests(chain) == ["/a", "other.e/b"]


def test_a_host_where_a_host_rule_answers_goes_on_there() -> None:
    rule = redirect("REGEX_HOST", r"^other\.e/x$", "https://other.e/b")
    chain = follow(redirect("BASIC", "/a", "https://other.e/x"), rule, PATH_RULE, url="/a")
    assert requests(chain) == ["/a", "other.e/x", "other.e/b"]


def test_where_a_pattern_with_a_host_answers_exact_rules_without_a_host_come_first_as_everywhere() -> None:
    rule = redirect("REGEX_HOST", r"^other\.e/", "https://z.e/end")
    exact = redirect("BASIC", "/b", "https://z.e/exact")
    chain = follow(redirect("BASIC", "/a", "https://other.e/b"), rule, exact, url="/a")
    assert [hop.match.location for hop in chain.hops] == ["https://other.e/b", "https://z.e/exact"]


def test_the_scheme_plays_no_part_so_a_rule_to_its_own_host_and_path_loops() -> None:
    chain = follow(redirect("BASIC_HOST", "h.e/a", "https://h.e/a"), url="http://h.e/a")
    assert chain.is_loop


@pytest.mark.parametrize("target", ["mailto:a@b.e", "https://[x/", "https:///b", "//h.e/b"])
def test_an_invalid_target_ends_the_chain(target: str) -> None:
    assert len(follow(redirect("BASIC", "/a", target), PATH_RULE, url="/a").hops) == 1


@given(st.lists(redirects(), max_size=10), st.sampled_from(["/a", "https://a.example/b", "https://b.example/"]))
def test_every_walk_ends_and_each_hop_is_what_the_matcher_answers(rules: list[Redirect], url: str) -> None:
    asked = matcher(*rules)
    chain = asked.follow(parse_request(url), 5)
    assert len(chain.hops) <= 5
    assert len({hop.request for hop in chain.hops}) == len(chain.hops)
    for hop in chain.hops:
        assert hop.match in [asked.match(hop.request), *(rest.match for rest in asked.answer(hop.request).candidates)]
    assert not chain.is_loop or 0 <= chain.loop_start < len(chain.hops)
