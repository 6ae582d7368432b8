"""A project's own tests: met expectations, failures, and their messages."""

import pytest

from content.checks.expectations import Expectation, failed_expectations
from tests.content.rules import matcher, page, redirect

RULES = matcher(
    redirect("BASIC", "/old", "/new"),
    redirect("BASIC", "/two", "/new#one#two"),
    redirect("REGEX", "^/b/(.*)$", "https://blog.example/$1#top", "FOUND"),
    redirect("BASIC", "//twice", "/once"),
    redirect("BASIC", "/caf\u00e9", "/Caf\u00e9"),
    page("BASIC", "/robots.txt"),
)


@pytest.mark.parametrize(
    "expected",
    [
        Expectation("/old", 301),
        Expectation("/old", 301, "/new"),
        Expectation("https://shop.example/old", 301, "/new"),
        Expectation("https://shop.example/old", 301, "https://shop.example/new"),
        Expectation("/b/x", 302, "https://blog.example/x#top"),
        Expectation("/b/x", 302, "https://Blog.Example/x#top"),
        Expectation("/caf%C3%A9", 301, "/Caf\u00e9"),
        Expectation("/caf\u00e9", 301, "/Caf%C3%A9"),
        Expectation("//twice", 301, "/once"),
        Expectation("/twice", 404),
        Expectation("/robots.txt", 200),
        Expectation("/nothing", 404),
    ],
)
def test_an_expectation_that_is_met_is_not_a_problem(expected: Expectation) -> None:
    assert failed_expectations(RULES, [expected]) == []


@pytest.mark.parametrize(
    ("expected", "pointer", "words"),
    [
        (Expectation("/old", 302), "/status", '301 to /new by the rule "/old"'),
        (Expectation("/old", 404), "/status", "should get 404"),
        (Expectation("/nothing", 301), "/status", "404: no rule matches"),
        (Expectation("/robots.txt", 404), "/status", '200: the page "/robots.txt"'),
        (Expectation("/old", 301, "/newer"), "/location", "should go to /newer"),
        (Expectation("https://shop.example/old", 301, "https://other.example/new"), "/location", "should go to"),
        (Expectation("/b/x", 302, "https://blog.example/x"), "/location", "#top"),
        (Expectation("/b/x", 302, "http://blog.example:81/x#top"), "/location", "should go to"),
        (Expectation("/two", 301, "/new#other#two"), "/location", "#one#two"),
        (Expectation("old", 301), "/url", "cannot be requested"),
    ],
)
def test_an_expectation_that_is_not_met_says_what_came_instead(expected: Expectation, pointer: str, words: str) -> None:
    (problem,) = failed_expectations(RULES, [expected])
    assert (problem.code, problem.pointer) == ("test_failed", pointer)
    assert words in problem.message


def test_each_failure_is_reported_at_its_own_place() -> None:
    failures = failed_expectations(
        RULES,
        [
            Expectation("/a", 301, file="shop/tests.yaml", line=3),
            Expectation("/old", 301, file="shop/tests.yaml", line=4),
            Expectation("/c", 200, file="shop/tests.yaml", line=5),
        ],
    )
    assert [(problem.file, problem.line) for problem in failures] == [("shop/tests.yaml", 3), ("shop/tests.yaml", 5)]
