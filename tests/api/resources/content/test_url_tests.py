"""Tests of URLs in one call: the limits of the call."""

from itertools import chain, repeat

import orjson
import pytest

from api.resources.content import url_tests
from api.resources.content.url_tests import MAX_NEAR_SECONDS, MAX_SECONDS, resolve_answered, resolve_urls
from content.matching.near_misses import find_near_misses
from tests.content.rules import matcher, redirect

RULES = matcher(redirect("BASIC", "/old", "/new"))


def codes(data: bytes) -> list[int | str]:
    """Return the status of each result, or the code of its problem."""
    results = orjson.loads(data)["results"]
    return [each["problem"]["code"] if "problem" in each else each["status"] for each in results]


def test_urls_after_the_time_limit_are_not_tested_and_say_so() -> None:
    times = chain([0.0, 0.0, MAX_SECONDS - 1], repeat(MAX_SECONDS))
    assert codes(resolve_urls(RULES, ["/old"] * 4, clock=lambda: next(times))) == [301, 301, "not_tested", "not_tested"]


def test_urls_after_the_size_limit_are_not_tested_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url_tests, "MAX_BYTES", 100)
    assert codes(resolve_urls(RULES, ["/old", "/old", "no url"])) == [301, "not_tested", "not_tested"]


def test_near_misses_are_given_up_to_a_number_of_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url_tests, "MOST_WITH_NEAR", 2)
    urls = ["/old", "/old/", "no url", "/x", "/old/"]
    found = orjson.loads(resolve_urls(RULES, urls, lambda request: find_near_misses(RULES, request)))["results"]
    assert [len(each["near"]) if "near" in each else None for each in found] == [None, 1, None, 0, None]


def test_near_misses_are_given_up_to_a_number_of_seconds() -> None:
    times = chain([0.0, 0.0, MAX_NEAR_SECONDS], repeat(MAX_NEAR_SECONDS))
    urls, near = ["/old/"] * 2, lambda request: find_near_misses(RULES, request)
    found = orjson.loads(resolve_urls(RULES, urls, near, lambda: next(times)))["results"]
    assert ["near" in each for each in found] == [True, False]


def test_urls_are_answered_at_once_only_if_each_gets_an_answer() -> None:
    data = resolve_answered(RULES, ["/old", "no url"])
    assert data
    assert codes(data) == [301, "bad_url"]
    assert resolve_answered(RULES, ["/old", "/old/"]) is None
