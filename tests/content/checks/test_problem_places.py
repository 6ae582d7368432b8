"""Each check of rules names the field that is at fault, and says so in words."""

import pytest

from content.checks.record_rules import record_problems
from content.checks.set_rules import set_problems
from content.matching.matcher import Matcher, RuleBook
from content.records.problem import Problem
from content.records.record import Page, Record, Redirect
from tests.content.rules import page, placed_pages, placed_redirects, redirect


def all_problems(*records: Record) -> list[Problem]:
    """List the problems of records alone and among each other."""
    rules = placed_redirects(*(each for each in records if isinstance(each, Redirect)))
    texts = placed_pages(*(each for each in records if isinstance(each, Page)))
    alone = [problem for each in records for problem in record_problems(each)]
    return alone + set_problems(Matcher(RuleBook(rules, texts)), rules, texts)


@pytest.mark.parametrize(
    ("code", "pointer", "records"),
    [
        ("uppercase_host", "/source", [redirect("BASIC_HOST", "A.example/b", "https://c.example/")]),
        ("uppercase_host", "/source", [redirect("REGEX_HOST", r"^A\.example/b", "https://c.example/")]),
        ("port_ignored", "/source", [redirect("BASIC_HOST", "a.example:80/b", "https://c.example/")]),
        ("query_in_source", "/source", [redirect("BASIC", "/a?b", "/c")]),
        ("query_in_source", "/path", [page("BASIC", "/a?b")]),
        ("query_in_source", "/source", [redirect("REGEX", r"^/a\?b$", "/c")]),
        ("fragment_in_source", "/source", [redirect("BASIC", "/a#b", "/c")]),
        ("regex_unanchored", "/source", [redirect("REGEX", "/a", "/c")]),
        ("regex_unanchored", "/source", [redirect("REGEX_HOST", "a.example/b", "https://c.example/")]),
        ("regex_unreachable", "/source", [redirect("REGEX", "^a", "/c")]),
        ("regex_raw_character", "/source", [redirect("REGEX", "^/a b", "/c")]),
        ("group_before_digit", "/target", [redirect("REGEX", "^/(a)", "/$10")]),
        ("open_redirect", "/target", [redirect("REGEX", "^/(.*)$", "https://$1/x")]),
        ("control_character", "/source", [redirect("BASIC", "/a\n", "/c")]),
        ("control_character", "/target", [redirect("BASIC", "/a", "/c\n")]),
        ("control_character", "/path", [page("BASIC", "/a\n")]),
        ("redirect_loop", "/target", [redirect("BASIC", "/a", "/a")]),
        ("chain", "/target", [redirect("BASIC", "/a", "/b"), redirect("BASIC", "/b", "/c")]),
        ("chain", "/target", [redirect("BASIC", "/a", "/b"), redirect("BASIC", "/b", "/b")]),
        (
            "regex_matches_target",
            "/target",
            [
                redirect("REGEX", "^/p(.+)$", "/pp$1"),
                *(redirect("BASIC", f"/ppp{sample}", "https://x.example/") for sample in "x1"),
            ],
        ),
        ("shadowed", "/source", [redirect("BASIC", "/a", "/c"), redirect("BASIC", "/%61", "/c")]),
        ("shadowed", "/path", [page("BASIC", "/a"), page("BASIC", "/%61")]),
        ("page_unreachable", "/path", [page("BASIC", "/a"), redirect("BASIC", "/a", "/c")]),
        ("regex_unreachable", "/source", [redirect("REGEX", "^/a$", "/c"), redirect("BASIC", "/a", "/c")]),
    ],
)
def test_problem_names_its_field_and_says_what_is_at_fault(code: str, pointer: str, records: list[Record]) -> None:
    found = [problem for problem in all_problems(*records) if problem.code == code]
    assert found
    assert {problem.pointer for problem in found} == {pointer}
    assert all(" " in problem.message for problem in found)


@pytest.mark.parametrize(("source", "place"), [("/a\tb", "U+0009 at character 3"), ("\x7f/a", "U+007F at character 1")])
def test_control_character_is_named_with_its_place(source: str, place: str) -> None:
    (problem,) = record_problems(redirect("BASIC", source, "/c"))
    assert place in problem.message


def test_chain_is_followed_as_far_as_browsers_go() -> None:
    """Guard: a loop that begins behind ten redirects is a loop all the same."""
    line = [redirect("BASIC", f"/{number}", f"/{number + 1}") for number in range(14)]
    (problem, *_) = all_problems(*line, redirect("BASIC", "/14", "https://end.example/"))
    assert (problem.code, "https://end.example/" in problem.message) == ("chain", True)
