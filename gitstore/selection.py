"""Publishing some changes of a draft: what the selected ones make of release, and what is left of the draft."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from content.diff import Change
from content.vocabulary import Kind
from gitstore.changes import changes_between
from gitstore.compiler import Compiler
from gitstore.drafts import DraftState, snapshot_of, write_project
from gitstore.edits import Delete, Edit, Put
from gitstore.errors import NotFound, UnknownChange
from gitstore.layout import TreeId
from gitstore.snapshot import Snapshot
from gitstore.update import Update
from gitstore.workspace import Workspace


class Selection(NamedTuple):
    """The project's folder as the draft's base becomes by some changes alone, and these changes."""

    tree: TreeId | None
    changes: Sequence[Change]


def select(compiler: Compiler, update: Update, state: DraftState, ids: Collection[str]) -> Selection:
    """Select the changes with these ids; NotFound where the draft has no such change."""
    if state.base_tree is None:
        raise NotFound(f"The draft {state.name.draft} began before the project; publish it whole.")
    base, draft = compiler.snapshot(state.name.project, state.base_tree), snapshot_of(compiler, state)
    changes = changes_between(base, draft)
    chosen = [change for kind in Kind for change in changes[kind] if change.id in ids]
    _all_known(chosen, ids)
    workspace = Workspace(base, update.blob)
    workspace.apply(_edit(draft, change) for change in chosen)
    tree = write_project(update, replace(state, tree=state.base_tree), workspace.files)
    return Selection(tree, chosen)


def _edit(draft: Snapshot, change: Change) -> Edit:
    """The change as an edit; a page stands where the draft has it, for its content's file is named from there."""
    if change.new is None:
        return Delete(change.kind, change.id)
    placed = draft.find(change.kind, change.id) if change.kind is Kind.PAGES else None
    return Put(change.kind, change.new, file=placed.file.removeprefix(f"{draft.project}/") if placed else "")


def _all_known(chosen: Sequence[Change], ids: Collection[str]) -> None:
    unknown = set(ids) - {change.id for change in chosen}
    if unknown:
        first = min(unknown)
        raise UnknownChange(f"The draft changes nothing with the id {first[:40]!r}.", first)
