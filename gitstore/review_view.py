"""A draft as its reviewer looks at it: what it changes rule by rule, and what that does."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from content.diff import Change, Counts, count
from content.impact import Impact, State, find_impact
from content.matching import Matcher, RuleBook
from content.vocabulary import Kind
from gitstore.changes import changes_between
from gitstore.checks import matcher_of
from gitstore.compiler import Compiler
from gitstore.drafts import DraftName, DraftState, read_draft, snapshot_of
from gitstore.file_changes import FileChange, file_changes
from gitstore.snapshot import Snapshot

SHOWN_AT_MOST = 100
"""Entries of each list of the impact; the totals count them all."""


@dataclass(frozen=True, slots=True)
class ReviewView:
    """A window of a draft's changes, of the kinds that were asked for, with their impact cut to what can be shown.

    `totals` counts the lists of the impact by their names.
    """

    state: DraftState
    counts: Mapping[Kind, Counts]
    changes: Sequence[Change]
    impact: Impact
    totals: Mapping[str, int]
    files: Sequence[FileChange]


def view_draft(compiler: Compiler, name: DraftName, kinds: Collection[Kind], offset: int, limit: int) -> ReviewView:
    """What a draft changes since it began, and what comes of it; effects that tell of other kinds are left out."""
    state = read_draft(compiler.repository, name)
    working = snapshot_of(compiler, state)
    before = compiler.snapshot(name.project, state.base_tree) if state.base_tree else None
    whole = changes_between(before, working)
    found = {kind: whole[kind] for kind in Kind if kind in kinds}
    changes = [change for of_kind in found.values() for change in of_kind]
    counts = {kind: count(of_kind) for kind, of_kind in found.items()}
    everything = [change for of_kind in whole.values() for change in of_kind]
    impact = _visible(find_impact(_state(before), _state(working), everything), kinds) if everything else _NOTHING
    totals = {"appears": len(impact.appears), "goes": len(impact.goes), "answers": len(impact.answers)}
    files = file_changes(compiler, name.project, state.base_tree, state.tree)
    return ReviewView(state, counts, changes[offset : offset + limit], _cut(impact), totals, files)


_NOTHING = Impact((), (), ())


def _state(snapshot: Snapshot | None) -> State:
    if snapshot is None:
        return State(Matcher(RuleBook((), ())), (), ())
    return State(matcher_of(snapshot), snapshot.redirects(), snapshot.pages())


def _visible(impact: Impact, kinds: Collection[Kind]) -> Impact:
    known = frozenset(kinds)
    return Impact(
        [effect for effect in impact.appears if effect.kinds <= known],
        [effect for effect in impact.goes if effect.kinds <= known],
        [answer for answer in impact.answers if answer.kinds <= known],
    )


def _cut(impact: Impact) -> Impact:
    most = SHOWN_AT_MOST
    return Impact(impact.appears[:most], impact.goes[:most], impact.answers[:most])
