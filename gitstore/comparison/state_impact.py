"""The impact of changes on other rules and on answers, from the lints of both states, which are cached."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from content.changes.diff import Change
from content.changes.impact import (
    EFFECT_CODES,
    Effect,
    Impact,
    RuleSet,
    find_changed_responses,
    find_impact,
    has_changed_pattern,
)
from content.matching.matcher import Matcher
from content.matching.rule_book import RuleBook, RuleSource
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.compiled.validation.checks import build_matcher
from gitstore.compiled.validation.lint import Finding, Lint
from gitstore.compiled.validation.snapshot_rules import SnapshotRules

_Key = tuple[Kind, int, str]


class _State(NamedTuple):
    """The rules of a state, in order, with their ids and the problems that they have among the others."""

    source: RuleSource
    ids: Mapping[Kind, Sequence[int]]
    effects: Mapping[_Key, Finding]


def find_state_impact(
    compiler: Compiler, before: Snapshot | None, after: Snapshot | None, changes: Sequence[Change]
) -> Impact:
    """Find the impact of the changes from one state of a project to another; None where it does not exist.

    It equals `find_impact`, and costs what the lint of the second state costs, if the first is linted.
    """
    base = compiler.lint_state(before.project, before.tree) if before else None
    lint = compiler.lint_state(after.project, after.tree, base) if after else None
    return compare_lints((before, base), (after, lint), changes)


_Linted = tuple[Snapshot | None, Lint | None]


def compare_lints(before: _Linted, after: _Linted, changes: Sequence[Change]) -> Impact:
    """Find the impact of changes from one state to the other, each with its lint, or None for no state."""
    if any(lint and not lint.lists for _, lint in (before, after)):  # a source is used twice: ids do not name one rule
        return find_impact(read_rules(before[0]), read_rules(after[0]), changes)
    old, new = _open_state(*before), _open_state(*after)
    return Impact(
        list(_list_effects(new, new.effects.keys() - old.effects.keys())),
        list(_list_effects(old, old.effects.keys() - new.effects.keys())),
        list(find_changed_responses(Matcher(old.source), Matcher(new.source), changes)),
        has_changed_pattern(changes),
    )


def read_rules(snapshot: Snapshot | None) -> RuleSet:
    """Return all rules of a state; no rules for none."""
    if snapshot is None:
        return RuleSet(Matcher(RuleBook((), ())), (), ())
    return RuleSet(build_matcher(snapshot), snapshot.redirects(), snapshot.pages())


def _open_state(snapshot: Snapshot | None, lint: Lint | None) -> _State:
    if snapshot is None or lint is None:
        return _State(RuleBook((), ()), {}, {})
    effects = {
        (finding.kind, finding.owner, finding.problem.code): finding
        for finding in lint.findings
        if finding.kind and finding.problem.code in EFFECT_CODES
    }
    return _State(SnapshotRules(snapshot), {kind: rules.ids for kind, rules in lint.lists.items()}, effects)


def _list_effects(state: _State, keys: AbstractSet[_Key]) -> Iterator[Effect]:
    """Yield the effects with these keys: those of redirects first, in the order of the rules."""
    for kind in Kind:
        owners = {owner for of_kind, owner, _ in keys if of_kind is kind}
        if owners:
            positions = {owner: position for position, owner in enumerate(state.ids[kind]) if owner in owners}
            of_kind = [key for key in state.effects if key[0] is kind and key in keys]
            for key in sorted(of_kind, key=lambda key: positions[key[1]]):
                position = positions[key[1]]
                rule = state.source.page(position) if kind is Kind.PAGES else state.source.redirect(position)
                yield Effect(rule, state.effects[key].problem)
