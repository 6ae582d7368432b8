"""The impact of changes as people read it: of the kinds that they may read, the first entries of each list, and totals."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from content.changes.impact import Impact
from content.records.problem_codes import NEVER_ANSWER
from content.records.vocabulary import Kind

MAX_SHOWN = 100  # entries of each list; the totals count all of them


class ImpactView(NamedTuple):
    """The first entries of an impact; `totals` counts its lists by their names."""

    impact: Impact
    totals: Mapping[str, int]


def view_impact(whole: Impact, kinds: Collection[Kind]) -> ImpactView:
    """Return the view of an impact, without effects on other kinds."""
    impact = _visible(whole, kinds)
    totals = {
        "appears": len(impact.added_effects),
        "goes": len(impact.removed_effects),
        "answers": len(impact.changed_responses),
        "never_answer_appears": sum(effect.problem.code in NEVER_ANSWER for effect in impact.added_effects),
        "never_answer_goes": sum(effect.problem.code in NEVER_ANSWER for effect in impact.removed_effects),
    }
    return ImpactView(_cut(impact), totals)


def _visible(impact: Impact, kinds: Collection[Kind]) -> Impact:
    known = frozenset(kinds)
    return Impact(
        [effect for effect in impact.added_effects if effect.kinds <= known],
        [effect for effect in impact.removed_effects if effect.kinds <= known],
        [answer for answer in impact.changed_responses if answer.kinds <= known],
        impact.has_patterns and Kind.REDIRECTS in known,
    )


def _cut(impact: Impact) -> Impact:
    most = MAX_SHOWN
    return replace(
        impact,
        added_effects=impact.added_effects[:most],
        removed_effects=impact.removed_effects[:most],
        changed_responses=impact.changed_responses[:most],
    )
