"""Tests of URLs in one call: the limits of the call."""

from itertools import chain, repeat

import orjson
import pytest

from api.resources.content import url_tests
from api.resources.content.url_tests import MAX_SECONDS, resolve_urls
from tests.content.rules import matcher, redirect

RULES = matcher(redirect("BASIC", "/old", "/new"))


def codes(data: bytes) -> list[int | str]:
    """Return the status of each result, or the code of its problem."""
    results = orjson.loads(data)["results"]
    return [each["problem"]["code"] if "problem" in each else each["status"] for each in results]


def test_urls_after_the_time_limit_are_not_tested_and_say_so() -> None:
    times = chain([0.0, 0.0, MAX_SECONDS - 1], repeat(MAX_SECONDS))
    assert codes(resolve_urls(RULES, ["/old"] * 4, lambda: next(times))) == [301, 301, "not_tested", "not_tested"]


def test_urls_after_the_size_limit_are_not_tested_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url_tests, "MAX_BYTES", 100)
    assert codes(resolve_urls(RULES, ["/old", "/old", "no url"])) == [301, "not_tested", "not_tested"]
