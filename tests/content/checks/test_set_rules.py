"""Problems of a set of records: duplicates, loops, chains, and rules that can never answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from content.checks.set_rules import duplicate_problems, set_problems
from content.matching.canonical import exact_key
from content.matching.matcher import Matcher, RuleBook
from content.matching.request import parse_key
from content.records.problem import Problem
from content.records.problem_codes import CODES
from content.records.record import Page, Placed, Record, Redirect
from tests.content.rules import FILE, page, pages, placed_pages, placed_redirects, redirect, redirects


def problems(*records: Record) -> list[Problem]:
    """Return all set problems of the records, as one project."""
    rules = placed_redirects(*(record for record in records if isinstance(record, Redirect)))
    texts = placed_pages(*(record for record in records if isinstance(record, Page)))
    return set_problems(Matcher(RuleBook(rules, texts)), rules, texts)


def reported(*records: Record) -> list[tuple[str, str, int]]:
    """Return code, severity and index of the record of each problem."""
    return [(problem.code, problem.severity.value, problem.line - 10) for problem in problems(*records)]


def test_a_duplicate_source_is_named_with_its_first_place() -> None:
    rules = placed_redirects(
        redirect("BASIC", "/a", "/1"), redirect("BASIC", "/b", "/2"), redirect("REGEX", "/a", "/3")
    )
    (found,) = duplicate_problems(rules)
    assert (found.code, found.file, found.line, found.pointer) == ("duplicate_source", FILE, 12, "/source")
    assert f"{FILE}:10" in found.message


def test_a_page_may_have_the_path_of_a_redirect_but_not_of_a_page() -> None:
    rules: list[Placed[Record]] = [*placed_redirects(redirect("BASIC", "/a", "/1"))]
    texts = placed_pages(page("BASIC", "/a"), page("BASIC", "/a", "other"))
    (found,) = duplicate_problems([*rules, *texts])
    assert (found.code, found.line, found.pointer) == ("duplicate_path", 11, "/path")


@given(st.lists(redirects() | pages(), max_size=12))
def test_there_are_as_many_duplicates_as_records_too_many(records: list[Record]) -> None:
    placed = [Placed(record) for record in records]
    distinct = {(isinstance(record, Page), record.identity) for record in records}
    assert len(duplicate_problems(placed)) == len(records) - len(distinct)


LOOP, CHAIN = ("redirect_loop", "error"), ("chain", "warning")


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([redirect("BASIC", "/a", "/b"), redirect("BASIC", "/c", "/d")], []),
        ([redirect("BASIC", "/a", "/b"), redirect("BASIC", "/b", "/c")], [(*CHAIN, 0)]),
        ([redirect("BASIC", "/a", "/a")], [(*LOOP, 0)]),
        ([redirect("BASIC", "/a", "/%61?x#y")], [(*LOOP, 0)]),
        ([redirect("BASIC", "/a?x", "/a")], []),
        ([redirect("BASIC", "/a", "/b"), redirect("BASIC", "/b", "/a")], [(*LOOP, 0), (*LOOP, 1)]),
        ([redirect("BASIC", "/s", "/a"), redirect("BASIC", "/a", "/a")], [(*CHAIN, 0), (*LOOP, 1)]),
        ([redirect("BASIC", "/a", "https://elsewhere.example/a")], []),
        ([redirect("BASIC_HOST", "h.e/a", "https://h.e/a")], [(*LOOP, 0)]),
        ([redirect("BASIC_HOST", "h.e/a", "http://H.e:8080/a")], [(*LOOP, 0)]),
        ([redirect("BASIC_HOST", "h.e/a", "https://www.h.e/a")], []),
        ([redirect("BASIC_HOST", "h.e/a", "https://h.e/b"), redirect("BASIC", "/b", "/a")], [(*LOOP, 0)]),
        ([redirect("REGEX", "^/a", "/a/new")], [(*LOOP, 0)]),
        ([redirect("REGEX", "^/a$", "/a/new")], []),
        ([redirect("REGEX", "^/a", "/ab"), redirect("BASIC", "/ab", "/c")], [(*CHAIN, 0)]),
        ([redirect("REGEX_HOST", r"^(www\.)?h\.e/", "https://www.h.e/")], [(*LOOP, 0)]),
        ([redirect("REGEX_HOST", r"^h\.e/", "https://www.h.e/")], []),
        ([redirect("REGEX", "^/(.*)$", "/new/$1")], [(*LOOP, 0)]),
        ([redirect("REGEX", r"^/n/(\d+)$", "/n/$1")], [(*LOOP, 0)]),
        ([redirect("REGEX", "^/x/(.*)$", "/$1")], []),
        ([redirect("REGEX", "^/a(/x)*/(.)$", "/a/$2")], [(*LOOP, 0)]),
        ([redirect("REGEX", "^/(.*)$", "/new/$1"), redirect("BASIC", "/new/new/1", "/1")], [(*LOOP, 0), (*LOOP, 1)]),
    ],
)
def test_circles_are_errors_and_chains_are_warnings(
    records: list[Record], expected: list[tuple[str, str, int]]
) -> None:
    assert reported(*records) == expected


def test_a_loop_is_shown_and_a_chain_names_its_end() -> None:
    loop, _ = problems(redirect("BASIC", "/a", "/b"), redirect("BASIC", "/b", "/a"))
    assert loop.message.endswith("/a → /b → /a")
    chain, *_ = problems(
        redirect("BASIC", "/a", "/b"), redirect("BASIC", "/b", "/c"), redirect("BASIC", "/c", "https://x.e/")
    )
    assert (
        chain.message
        == "the target is redirected again: /a → /b → /c → https://x.e/; redirect to https://x.e/ directly"
    )


def test_a_long_chain_is_shown_in_part_up_to_its_end() -> None:
    far = f"https://x.e/{'y' * 300}"
    rules = [redirect("BASIC", f"/{number}", f"/{number + 1}") for number in range(7)]
    chain, *_ = problems(*rules, redirect("BASIC", "/7", far))
    assert f": /0 → /1 → /2 → /3 → /4 → … → {far[:200]}…; redirect to {far} directly" in chain.message


def test_a_rule_that_matches_its_target_but_then_ends_is_a_warning() -> None:
    growing = redirect("REGEX", "^/p(.+)$", "/pp$1")
    stops = [redirect("BASIC", f"/ppp{sample}", "https://x.e/") for sample in "x1"]
    assert reported(growing, *stops) == [("regex_matches_target", "warning", 0)]


SHADOWED, UNREACHABLE = ("shadowed", "warning"), ("regex_unreachable", "warning")


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([redirect("BASIC", "/a", "https://x.e/"), redirect("BASIC", "/%61", "https://x.e/")], [(*SHADOWED, 1)]),
        (
            [redirect("BASIC_HOST", "h.e/a", "https://x.e/"), redirect("BASIC_HOST", "H.e/a", "https://y.e/")],
            [(*SHADOWED, 1)],
        ),
        ([redirect("BASIC", "/a", "https://x.e/"), redirect("BASIC", "/a?q", "https://x.e/")], []),
        ([redirect("BASIC", "/a", "https://x.e/"), redirect("BASIC_HOST", "h.e/a", "https://x.e/")], []),
        (
            [redirect("REGEX", "^/docs/v1/", "https://x.e/"), redirect("REGEX", "^/docs/(.*)$", "https://x.e/")],
            [(*UNREACHABLE, 0)],
        ),
        ([redirect("REGEX", "^/docs/v1/.+", "https://x.e/"), redirect("REGEX", "^/docs/(.*)$", "https://x.e/")], []),
        ([redirect("REGEX", "^/docs/", "https://x.e/"), redirect("REGEX", "^/.*$", "https://x.e/")], []),
        (
            [redirect("REGEX", "^/d/", "https://x.e/"), redirect("REGEX", "^/.*$", "https://x.e/")],
            [(*UNREACHABLE, 0)],
        ),
        ([redirect("REGEX", "^/a$", "https://x.e/"), redirect("BASIC", "/a", "https://x.e/")], [(*UNREACHABLE, 0)]),
        ([redirect("REGEX", "^/a/?$", "https://x.e/"), redirect("BASIC", "/a", "https://x.e/")], []),
        (
            [
                redirect("REGEX", "^/a/?$", "https://x.e/"),
                redirect("BASIC", "/a", "https://x.e/"),
                redirect("BASIC", "/a/", "https://x.e/"),
            ],
            [(*UNREACHABLE, 0)],
        ),
        (
            [redirect("REGEX_HOST", r"^h\.e/a$", "https://x.e/"), redirect("BASIC", "/a", "https://x.e/")],
            [(*UNREACHABLE, 0)],
        ),
        (
            [redirect("REGEX", "^/a$", "https://x.e/"), redirect("REGEX", "^/a.{0,3}$", "https://x.e/")],
            [(*UNREACHABLE, 0)],
        ),
        ([redirect("REGEX", "^/a|^/b", "https://x.e/"), redirect("REGEX", "^/.*(.*)$", "https://x.e/")], []),
    ],
)
def test_rules_that_can_never_answer_are_warned_about(
    records: list[Record], expected: list[tuple[str, str, int]]
) -> None:
    assert reported(*records) == expected


PAGE_ERROR, PAGE_WARNING = ("page_unreachable", "error"), ("page_unreachable", "warning")


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([page("BASIC", "/p"), redirect("BASIC", "/p", "/x")], [(*PAGE_ERROR, 0)]),
        ([page("BASIC", "/p"), redirect("BASIC", "/%70", "/x")], [(*PAGE_ERROR, 0)]),
        ([page("BASIC_HOST", "h.e/p"), redirect("BASIC_HOST", "h.e/p", "https://x.e/")], [(*PAGE_ERROR, 0)]),
        ([page("BASIC_HOST", "h.e/p"), redirect("BASIC", "/p", "/x")], [(*PAGE_WARNING, 0)]),
        ([page("BASIC", "/p"), redirect("BASIC_HOST", "h.e/p", "https://x.e/")], []),
        ([page("BASIC", "/p"), redirect("REGEX", "^/p$", "/x")], [(*PAGE_WARNING, 0)]),
        ([page("BASIC", "/p"), redirect("BASIC", "/p?q", "/x")], []),
        ([page("BASIC", "/p"), page("BASIC", "/%70")], [(*SHADOWED, 1)]),
        ([page("BASIC", "p"), redirect("BASIC", "p", "/x")], []),
    ],
)
def test_a_page_that_a_redirect_hides_is_reported(records: list[Record], expected: list[tuple[str, str, int]]) -> None:
    assert reported(*records) == expected


def test_only_the_given_rules_are_checked_but_among_all() -> None:
    rules = placed_redirects(
        redirect("BASIC", "/a", "/b"), redirect("BASIC", "/b", "/a"), redirect("BASIC", "/c", "/c")
    )
    found = set_problems(Matcher(RuleBook(rules, [])), rules[1:2], [])
    assert [(problem.code, problem.line) for problem in found] == [("redirect_loop", 11)]


@given(st.lists(redirects(), max_size=10, unique_by=lambda rule: rule.source))
def test_a_loop_is_reported_exactly_for_the_exact_rules_in_it(rules: list[Redirect]) -> None:
    placed = placed_redirects(*rules)
    asked = Matcher(RuleBook(placed, []))
    looping = {problem.line - 10 for problem in set_problems(asked, placed, []) if problem.code == "redirect_loop"}
    for index, rule in enumerate(rules):
        key = exact_key(rule.type.has_host, rule.source) if rule.type.is_exact else ""
        first = asked.source.redirects_at(key)[0] if key else -1
        if first != index:
            continue
        match = next(
            found
            for found in (
                asked.answer(parse_key(key)).winner,
                *(c.match for c in asked.answer(parse_key(key)).candidates),
            )
            if found and found.redirect == placed[index]
        )
        chain = asked.follow_from(parse_key(key), match, 20)
        again = any(hop.match.redirect == placed[index] for hop in chain.hops[1:])
        assert (index in looping) == (chain.is_endless and (chain.loop_start == 0 or again))


@given(st.lists(redirects(), max_size=10), st.lists(pages(), max_size=4))
def test_every_problem_has_a_place_a_known_code_and_a_sentence(rules: list[Redirect], texts: list[Page]) -> None:
    for problem in problems(*rules, *texts):
        assert problem.code in CODES
        assert problem.file
        assert problem.line >= 10
        assert problem.pointer in ("/source", "/target", "/path")
        assert problem.message


@given(st.lists(redirects(), max_size=8), st.sampled_from(["/a", "/b", "/", "/ab", "/a/b"]))
def test_a_regex_said_to_be_unreachable_never_answers(rules: list[Redirect], path: str) -> None:
    placed = placed_redirects(*{rule.source: rule for rule in rules}.values())
    asked = Matcher(RuleBook(placed, []))
    dead = {problem.line - 10 for problem in set_problems(asked, placed, []) if problem.code == "regex_unreachable"}
    for host in ("", "a.example", "b.example"):
        match = asked.match(parse_key(host + path))
        assert match is None or match.redirect is None or match.redirect.position not in dead
