"""Redirects of public sites get sensible verdicts: one for every row, and errors only with a reason."""

from collections import Counter
from pathlib import Path

import pytest

from content.checks.record_rules import record_problems
from content.checks.set_rules import duplicate_problems, set_problems
from content.matching.canonical import exact_key
from content.matching.matcher import Matcher, RuleBook
from content.matching.request import parse_key, parse_request
from content.records.problem import Problem, errors
from content.records.record import Placed, Redirect, redirect_of

COLUMNS = ("type", "source", "target", "status")
ERRORS = {
    "cockroachdb": {"duplicate_source": 16, "redirect_loop": 4},
    "dart-firebase": {},
    "hashicorp-terraform": {},
    "knative": {},
    "mdn-2023-en-us": {},
    "mdn-archived-2021": {"target_character": 1},
    "mozilla-refractr": {},
    "officedocs-deployoffice": {"bad_target": 13},
    "powershell-docs": {},
    "ubuntu": {"bad_regex": 2, "bad_target": 2},
    "wikimedia-core": {},
}


def read(datasets: Path, name: str) -> list[Placed[Redirect]]:
    """Return the rules of a list, with the line of each."""
    path = datasets / f"{name}.tsv"
    rows = path.read_text("utf-8").split("\n")[1:]
    records = [redirect_of(dict(zip(COLUMNS, row.split("\t"), strict=True))) for row in rows if row]
    return [Placed(record, path.name, 2 + index, index) for index, record in enumerate(records)]


def checked(placed: list[Placed[Redirect]]) -> list[Problem]:
    """Return every problem of the list, of records and of the set."""
    alone = [problem for item in placed for problem in record_problems(item.record)]
    return [*alone, *duplicate_problems(placed), *set_problems(Matcher(RuleBook(placed, [])), placed, [])]


@pytest.mark.parametrize("name", ERRORS)
def test_only_the_rows_that_are_really_invalid_are_errors(datasets: Path, name: str) -> None:
    assert Counter(problem.code for problem in errors(checked(read(datasets, name)))) == ERRORS[name]


@pytest.mark.parametrize("name", ERRORS)
def test_every_exact_rule_answers_for_its_source_unless_an_equal_one_precedes_it(datasets: Path, name: str) -> None:
    placed = read(datasets, name)
    matcher = Matcher(RuleBook(placed, []))
    for item in placed:
        key = exact_key(item.record.type.has_host, item.record.source) if item.record.type.is_exact else ""
        if key:
            match = matcher.match(parse_key(key))
            assert match
            assert match.rule == placed[matcher.source.redirects_at(key)[0]]
            assert match.location.isascii()


def test_regexes_of_a_real_site_give_the_locations_that_it_gives(datasets: Path) -> None:
    dart = Matcher(RuleBook(read(datasets, "dart-firebase"), []))
    match = dart.match(parse_request("https://dart.dev/diagnostics/abstract_field"))
    assert match
    assert match.location.startswith("/tools/diagnostics/abstract_field/?utm_source=dartdev")
    match = dart.match(parse_request("/a/b.html"))
    assert match
    assert match.location == "/a/b"
