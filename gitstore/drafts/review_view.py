"""The view of a draft for reviewers: its changes, rule by rule, and their impact."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from content.changes.diff import Change, Counts, count
from content.records.vocabulary import Kind
from gitstore.comparison.file_changes import FileChange, file_changes
from gitstore.comparison.impact_view import ImpactView, view_impact
from gitstore.comparison.project_changes import NO_IMPACT
from gitstore.comparison.state_impact import find_state_impact
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.changes import changes_between
from gitstore.drafts.drafts import DraftName, DraftState, read_draft, snapshot_of


@dataclass(frozen=True, slots=True)
class ReviewView:
    """A window of a draft's changes of the requested kinds, with the first entries of their impact."""

    state: DraftState
    counts: Mapping[Kind, Counts]
    changes: Sequence[Change]
    impact: ImpactView
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
    impact = find_state_impact(compiler, before, working, everything) if everything else NO_IMPACT
    files = file_changes(compiler, name.project, state.base_tree, state.tree)
    return ReviewView(state, counts, changes[offset : offset + limit], view_impact(impact, kinds), files)
