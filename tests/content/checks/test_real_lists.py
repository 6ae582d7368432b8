"""Redirects as public sites have them get sensible verdicts: one for every row, and errors only with a reason."""

from collections import Counter

import pytest

from content.checks.record_rules import record_problems
from content.checks.set_rules import duplicate_problems, set_problems
from content.matching.canonical import exact_key
from content.matching.matcher import Matcher, RuleBook
from content.matching.request import parse_key, parse_request
from content.records.problem import Problem, errors
from content.records.record import Placed, Redirect, redirect_of
from tests.redirect_lists import COLUMNS, REAL, SHAPES, STATUS_NAMES, read_list, read_rows

REAL_ERRORS: dict[str, dict[str, int]] = {
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
ERRORS = {name: shape.errors for name, shape in SHAPES.items()} | {
    name: found for name, found in REAL_ERRORS.items() if name in REAL
}


def read(name: str) -> list[Placed[Redirect]]:
    """Return the rules of a list, with the line of each."""
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in read_rows(read_list(name))]
    records = [redirect_of({**row, "status": STATUS_NAMES.get(row["status"], row["status"])}) for row in rows]
    return [Placed(record, name, 2 + index, index) for index, record in enumerate(records)]


def checked(placed: list[Placed[Redirect]]) -> list[Problem]:
    """Return every problem of the list, of records and of the set."""
    alone = [problem for item in placed for problem in record_problems(item.record)]
    return [*alone, *duplicate_problems(placed), *set_problems(Matcher(RuleBook(placed, [])), placed, [])]


@pytest.mark.parametrize("name", ERRORS)
def test_only_the_rows_that_are_really_invalid_are_errors(name: str) -> None:
    assert Counter(problem.code for problem in errors(checked(read(name)))) == ERRORS[name]


@pytest.mark.parametrize("name", ERRORS)
def test_every_exact_rule_answers_for_its_source_unless_an_equal_one_precedes_it(name: str) -> None:
    placed = read(name)
    matcher = Matcher(RuleBook(placed, []))
    for item in placed:
        key = exact_key(item.record.type.has_host, item.record.source) if item.record.type.is_exact else ""
        if key:
            match = matcher.match(parse_key(key))
            assert match
            assert match.rule == placed[matcher.source.redirects_at(key)[0]]
            assert match.location.isascii()


@pytest.mark.parametrize("name", SHAPES)
def test_a_generated_list_has_the_chains_and_hidden_patterns_of_its_shape(name: str) -> None:
    found = Counter(problem.code for problem in checked(read(name)))
    assert (found["chain"], found["regex_unreachable"]) == (SHAPES[name].chains, SHAPES[name].unreachable)


@pytest.mark.usefixtures("datasets")
@pytest.mark.parametrize("name", REAL_ERRORS)
def test_a_generated_list_has_the_figures_of_the_real_one(name: str) -> None:
    generated, real = (read_rows(read_list(each)) for each in (f"like-{name}", name))
    assert len(generated) == len(real)
    assert Counter(row[0] for row in generated) == Counter(row[0] for row in real)
    assert {row[3] for row in generated} == {row[3] for row in real}
    for column in (1, 2):
        of_generated, of_real = (sorted(len(row[column]) for row in rows) for rows in (generated, real))
        middle = len(of_real) // 2
        assert of_generated[middle] == pytest.approx(of_real[middle], rel=0.3)
        assert of_generated[-1] == pytest.approx(of_real[-1], rel=0.3)
        assert len({row[column] for row in generated}) == pytest.approx(len({row[column] for row in real}), rel=0.3)
        texts = [[row[column] for row in rows] for rows in (generated, real)]
        foreign, real_foreign = (sum(not text.isascii() for text in each) for each in texts)
        assert foreign == pytest.approx(real_foreign, abs=2)


@pytest.mark.usefixtures("datasets")
def test_regexes_of_a_real_site_give_the_locations_that_it_gives() -> None:
    dart = Matcher(RuleBook(read("dart-firebase"), []))
    match = dart.match(parse_request("https://dart.dev/diagnostics/abstract_field"))
    assert match
    assert match.location.startswith("/tools/diagnostics/abstract_field/?utm_source=dartdev")
    match = dart.match(parse_request("/a/b.html"))
    assert match
    assert match.location == "/a/b"
