"""Redirects that public sites really use are judged sensibly: a verdict for every row, and errors only with a reason."""

from collections import Counter
from pathlib import Path

import pytest

from content.canonical import exact_key
from content.matching import Matcher, RuleBook
from content.problem import Problem, errors
from content.record import Placed, Redirect, redirect_of
from content.record_rules import record_problems
from content.request import parse_key, parse_request
from content.set_rules import duplicate_problems, set_problems

DATASETS = Path(__file__).parents[3] / "shared" / "datasets"
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


def read(name: str) -> list[Placed[Redirect]]:
    """The rules of a list, with the line each stands on."""
    path = DATASETS / f"{name}.tsv"
    if not path.is_file():
        pytest.fail(f"the list {path} is missing; it belongs beside the project's folder")
    rows = path.read_text("utf-8").split("\n")[1:]
    records = [redirect_of(dict(zip(COLUMNS, row.split("\t"), strict=True))) for row in rows if row]
    return [Placed(record, path.name, 2 + index, index) for index, record in enumerate(records)]


def judged(placed: list[Placed[Redirect]]) -> list[Problem]:
    """Every problem of the list, of records and of the set."""
    alone = [problem for item in placed for problem in record_problems(item.record)]
    return [*alone, *duplicate_problems(placed), *set_problems(Matcher(RuleBook(placed, [])), placed, [])]


@pytest.mark.parametrize("name", ERRORS)
def test_only_the_rows_that_are_really_wrong_are_errors(name: str) -> None:
    assert Counter(problem.code for problem in errors(judged(read(name)))) == ERRORS[name]


@pytest.mark.parametrize("name", ERRORS)
def test_every_exact_rule_answers_for_its_source_unless_an_equal_one_stands_before(name: str) -> None:
    placed = read(name)
    matcher = Matcher(RuleBook(placed, []))
    for item in placed:
        key = exact_key(item.record.type.has_host, item.record.source) if item.record.type.is_exact else ""
        if key:
            match = matcher.match(parse_key(key))
            assert match
            assert match.rule == placed[matcher.source.redirects_at(key)[0]]
            assert match.location.isascii()


def test_regexes_of_a_real_site_give_the_locations_that_it_gives() -> None:
    dart = Matcher(RuleBook(read("dart-firebase"), []))
    match = dart.match(parse_request("https://dart.dev/diagnostics/abstract_field"))
    assert match
    assert match.location.startswith("/tools/diagnostics/abstract_field/?utm_source=dartdev")
    match = dart.match(parse_request("/a/b.html"))
    assert match
    assert match.location == "/a/b"
