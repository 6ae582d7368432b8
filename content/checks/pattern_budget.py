"""The budgets of regular expressions: for one rule, for a project, and for the new ones of one call.

The unit is the cost of `content.matching.pattern_cost`. A pattern whose text alone shows that it is too costly is refused
without compiling it, and the rest of a call is not compiled once its budget is spent.
"""

import time
from collections.abc import Container, Iterable, Sequence
from heapq import nlargest
from typing import NamedTuple

from content.matching.pattern import facts_of
from content.matching.pattern_cost import least_cost
from content.records.pattern_limits import PatternLimits
from content.records.problem import Problem
from content.records.problem_codes import problem
from content.records.record import Record, Redirect

_NAMED_RULES = 10
_SHOWN = 100  # characters of a source in a message


class CostlyRule(NamedTuple):
    """A regex redirect with its cost and place; `file` and `line` are empty for a rule that is in no file yet."""

    cost: int
    source: str
    file: str = ""
    line: int = 0


class CallBudget:
    """The budget of the regular expressions that one call adds or changes.

    Patterns of `known`, which the project has, are free. Once the budget is spent (`is_spent`), no pattern is compiled.
    """

    def __init__(self, limits: PatternLimits, known: Container[str] = ()) -> None:
        self.is_spent = False
        self._limits = limits
        self._known = known
        self._cost = 0
        self._seconds = 0.0
        self._refused = 0
        self._rules: list[CostlyRule] = []

    def spend(self, source: str) -> list[Problem]:
        """Count a pattern, and return the problems if it, or all together, cost too much."""
        if source in self._known:
            return []
        least = least_cost(source)
        if least > self._limits.rule:
            return self._refuse_rule(source, least, "at least ")
        if self.is_spent or self._cost + least > self._limits.call or self._seconds > self._limits.seconds:
            return self._refuse(CostlyRule(least, source))
        begun = time.thread_time()
        cost = facts_of(source).cost
        self._seconds += time.thread_time() - begun
        if cost > self._limits.rule:
            return self._refuse_rule(source, cost)
        if self._cost + cost > self._limits.call:
            return self._refuse(CostlyRule(cost, source))
        self._cost += cost
        self._rules.append(CostlyRule(cost, source))
        return []

    def _refuse_rule(self, source: str, cost: int, at_least: str = "") -> list[Problem]:
        """Refuse one pattern, and all later ones once enough are named."""
        self._refused += 1
        self.is_spent = self.is_spent or self._refused >= _NAMED_RULES
        return [_rule_problem(source, cost, self._limits.rule, at_least)]

    def _refuse(self, rule: CostlyRule) -> list[Problem]:
        """Refuse a pattern, and all later ones; the costliest are named once."""
        what = (
            f"the regular expressions of one call may cost {self._limits.call:,} instructions"
            f" and take {self._limits.seconds} seconds; send fewer at once, or simpler ones"
        )
        named = [rule] if self.is_spent else _costliest([rule, *self._rules])
        self.is_spent = True
        return [_budget_problem(what, each) for each in named]


def is_pattern(record: Record) -> bool:
    """Return whether a record's source is a regular expression."""
    return isinstance(record, Redirect) and not record.type.is_exact


def pattern_cost(records: Iterable[Record]) -> int:
    """Return the cost of all regular expressions among these records."""
    return sum(
        facts_of(record.source).cost for record in records if isinstance(record, Redirect) and is_pattern(record)
    )


def exceeds_project(limits: PatternLimits, before: int, after: int) -> bool:
    """Return whether a project costs too much: a cost above the limit may stay or shrink, but not grow."""
    return after > max(limits.project, before)


def project_problems(limits: PatternLimits, cost: int, rules: Iterable[CostlyRule]) -> list[Problem]:
    """Return the problems of a project whose regular expressions cost too much, at its costliest rules."""
    what = (
        f"the regular expressions of this project cost {cost:,} instructions; the limit is {limits.project:,}; "
        "repeat less in the costliest ones, or remove some"
    )
    return [_budget_problem(what, each) for each in _costliest(rules)]


def rule_problems(limits: PatternLimits, rules: Iterable[CostlyRule]) -> list[Problem]:
    """Return a problem for each of these rules that by itself costs too much."""
    return [
        _rule_problem(rule.source, rule.cost, limits.rule).at(rule.file, rule.line)
        for rule in rules
        if rule.cost > limits.rule
    ]


def _costliest(rules: Iterable[CostlyRule]) -> Sequence[CostlyRule]:
    return nlargest(_NAMED_RULES, rules, key=lambda rule: rule.cost)


def _budget_problem(what: str, rule: CostlyRule) -> Problem:
    message = f'{what}. This one costs {rule.cost:,}: "{rule.source[:_SHOWN]}"'
    return problem("regex_budget", message, "" if rule.file else "/source").at(rule.file, rule.line)


def _rule_problem(source: str, cost: int, limit: int, at_least: str = "") -> Problem:
    message = (
        f'the regular expression costs {at_least}{cost:,} instructions; the limit is {limit:,}: "{source[:_SHOWN]}". '
        "Lower its counted repetitions, or use simpler classes"
    )
    return problem("regex_too_costly", message, "/source")
