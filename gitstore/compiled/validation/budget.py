"""The check of a project's regular expressions against their budgets, compared with the state before.

A state that was published under higher limits is still served, and may be changed as long as it does not cost more.
"""

from content.checks.pattern_budget import exceeds_project, project_problems, rule_problems
from content.records.pattern_limits import PatternLimits
from content.records.problem import Problem
from gitstore.compiled.segments.snapshot import Snapshot


def find_budget_problems(before: Snapshot | None, snapshot: Snapshot, limits: PatternLimits) -> list[Problem]:
    """Return the problems of rules that are new in the snapshot and too costly, or else those of the whole project."""
    same = {file[:2] for file in before.pattern_files} if before else set()
    costly = [rule for rule in snapshot.costly_rules(same) if rule.cost > limits.rule]
    if costly and before:
        known = before.costly_sources(limits.rule)
        costly = [rule for rule in costly if rule.source not in known]
    if costly:
        return rule_problems(limits, costly)
    cost = snapshot.pattern_cost
    if not exceeds_project(limits, before.pattern_cost if before else 0, cost):
        return []
    return project_problems(limits, cost, snapshot.costly_rules())
