"""The view of a draft for reviewers: its changes, rule by rule, and their impact."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from content.changes.diff import Change, Counts, count
from content.changes.impact import Impact
from content.records.problem_codes import NEVER_ANSWER
from content.records.vocabulary import Kind
from gitstore.comparison.file_changes import FileChange, file_changes
from gitstore.comparison.state_impact import find_state_impact
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.changes import changes_between
from gitstore.drafts.drafts import DraftName, DraftState, read_draft, snapshot_of

MAX_SHOWN = 100  # entries of each list of the impact; the totals count all of them


@dataclass(frozen=True, slots=True)
class ReviewView:
    """A window of a draft's changes of the requested kinds, with the first entries of their impact.

    `totals` counts the lists of the impact by their names.
    """

    state: DraftState
    counts: Mapping[Kind, Counts]
    changes: Sequence[Change]
    impact: Impact
    totals: Mapping[str, int]
    files: Sequence[FileChange]


def view_draft(compiler: Compiler, name: DraftName, kinds: Collection[Kind], offset: int, limit: int) -> ReviewView:
    """Return the changes of a draft since its base, and their impact without effects on other kinds."""
    state = read_draft(compiler.repository, name)
    working = snapshot_of(compiler, state)
    before = compiler.snapshot(name.project, state.base_tree) if state.base_tree else None
    whole = changes_between(before, working)
    found = {kind: whole[kind] for kind in Kind if kind in kinds}
    changes = [change for of_kind in found.values() for change in of_kind]
    counts = {kind: count(of_kind) for kind, of_kind in found.items()}
    everything = [change for of_kind in whole.values() for change in of_kind]
    impact = _visible(find_state_impact(compiler, before, working, everything), kinds) if everything else _NO_IMPACT
    totals = {
        "appears": len(impact.added_effects),
        "goes": len(impact.removed_effects),
        "answers": len(impact.changed_responses),
        "never_answer_appears": sum(effect.problem.code in NEVER_ANSWER for effect in impact.added_effects),
        "never_answer_goes": sum(effect.problem.code in NEVER_ANSWER for effect in impact.removed_effects),
    }
    files = file_changes(compiler, name.project, state.base_tree, state.tree)
    return ReviewView(state, counts, changes[offset : offset + limit], _cut(impact), totals, files)


_NO_IMPACT = Impact((), (), ())


def _visible(impact: Impact, kinds: Collection[Kind]) -> Impact:
    known = frozenset(kinds)
    return Impact(
        [effect for effect in impact.added_effects if effect.kinds <= known],
        [effect for effect in impact.removed_effects if effect.kinds <= known],
        [answer for answer in impact.changed_responses if answer.kinds <= known],
    )


def _cut(impact: Impact) -> Impact:
    most = MAX_SHOWN
    return Impact(impact.added_effects[:most], impact.removed_effects[:most], impact.changed_responses[:most])
