"""The budgets of regular expressions: of one rule, of the new ones of a call, and of a project."""

from pathlib import Path

from content.checks.pattern_budget import CallBudget, CostlyRule, exceeds_project, project_problems
from content.formats.tsv import read_rows
from content.matching.pattern import facts_of
from content.records.pattern_limits import DEFAULT_LIMITS, PatternLimits

LIMITS = PatternLimits(rule=500, project=1_000, call=1_000)


def _source(number: int, copies: int) -> str:
    return f"^/{number}a{{{copies}}}$"


def test_a_rule_that_is_too_costly_is_refused_with_its_cost() -> None:
    [found] = CallBudget(LIMITS).spend("^[^/]{100}")
    assert (found.code, found.pointer) == ("regex_too_costly", "/source")
    assert "costs 902 instructions; the limit is 500" in found.message
    assert '"^[^/]{100}"' in found.message


def test_a_text_that_shows_the_cost_is_not_compiled() -> None:
    """The message says "at least", since the exact cost is unknown."""
    [found] = CallBudget(LIMITS).spend("^/a{1000}")
    assert "costs at least 1,001 instructions" in found.message


def test_a_call_stops_at_its_budget_and_names_the_costliest_rules_first() -> None:
    budget = CallBudget(LIMITS)
    found = [budget.spend(_source(number, 100 + number * 10)) for number in range(20)]
    refused = found[[bool(each) for each in found].index(True)]
    assert {each.code for each in refused} == {"regex_budget"}
    costs = [int(each.message.partition("costs ")[2].partition(":")[0].replace(",", "")) for each in refused]
    assert costs == sorted(costs, reverse=True)
    assert _source(7, 170) in refused[0].message
    assert budget.is_spent
    assert len(budget.spend("^/small$")) == 1


def test_ten_rules_that_are_too_costly_end_a_call() -> None:
    budget = CallBudget(LIMITS)
    for number in range(10):
        assert not budget.is_spent
        assert budget.spend(_source(number, 600))
    assert budget.is_spent


def test_a_call_that_compiles_for_too_long_is_stopped() -> None:
    budget = CallBudget(PatternLimits(seconds=-1))
    [found] = budget.spend("^/a$")
    assert found.code == "regex_budget"


def test_rules_that_the_project_has_are_free() -> None:
    source = _source(1, 900)
    assert CallBudget(LIMITS, {source}).spend(source) == []


def test_a_project_above_its_limit_may_stay_or_shrink_but_not_grow() -> None:
    assert exceeds_project(LIMITS, 0, 1_001)
    assert not exceeds_project(LIMITS, 0, 1_000)
    assert not exceeds_project(LIMITS, 5_000, 5_000)
    assert exceeds_project(LIMITS, 5_000, 5_001)


def test_a_project_s_problems_name_file_line_source_and_cost_of_the_costliest_rules() -> None:
    rules = [CostlyRule(number, f"^/{number}", "shop/redirects.yaml", number) for number in range(1, 40)]
    found = project_problems(LIMITS, 780_000, rules)
    assert [each.line for each in found] == list(range(39, 29, -1))
    assert "cost 780,000 instructions; the limit is 1,000" in found[0].message
    assert 'This one costs 39: "^/39"' in found[0].message


def test_fifty_thousand_ordinary_patterns_fit_the_default_twice() -> None:
    shapes = (
        r"^/blog/section-%d/(\d+)/([a-z0-9-]+)\.html$",
        r"^/old/%d/(.*)$",
        r"(?i)^/docs/v%d/([^/]+)/?$",
        r"^/shop/(?:de|en|fr)/item-%d(?:/.*)?$",
        r"^/%d/[0-9]{4}/[0-9]{2}/.*\.php$",
    )
    costs = [facts_of(shape % number).cost for number in range(500) for shape in shapes]
    assert sum(costs) * 20 * 2 < min(DEFAULT_LIMITS.project, DEFAULT_LIMITS.call)
    assert max(costs) * 50 < DEFAULT_LIMITS.rule


def test_every_real_list_fits_the_default_a_hundred_times(datasets: Path) -> None:
    lists = sorted(datasets.glob("*.tsv"))
    assert lists
    for path in lists:
        sources = [
            row.fields.source for row in read_rows(path.read_bytes()) if row.fields and not row.fields.type.is_exact
        ]
        costs = [facts_of(source).cost for source in sources]
        assert sum(costs) * 100 < DEFAULT_LIMITS.project, path.name
        assert max(costs, default=0) * 50 < DEFAULT_LIMITS.rule, path.name
