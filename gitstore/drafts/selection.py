"""Selected changes of a draft, for a publish that leaves the rest in the draft."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from content.changes.diff import Change, chosen_names, item_kind
from content.records.record import Page
from content.records.vocabulary import Kind
from gitstore.compiled.compiler import Compiler
from gitstore.compiled.segments.changes import changes_between
from gitstore.compiled.segments.snapshot import Snapshot
from gitstore.drafts.drafts import DraftState, snapshot_of, write_project
from gitstore.drafts.editing.edits import Delete, Edit, Put
from gitstore.drafts.editing.workspace import Workspace
from gitstore.errors import NotFound, UnknownChange
from gitstore.git.transaction import Transaction
from gitstore.layout import TreeId


class Selection(NamedTuple):
    """The project's folder at the draft's base with only some changes applied, and these changes."""

    tree: TreeId
    changes: Sequence[Change]


def select(compiler: Compiler, transaction: Transaction, state: DraftState, ids: Collection[str]) -> Selection:
    """Select the changes with these ids; raises NotFound where the draft has no such change."""
    if state.base_tree is None:
        raise NotFound(f"The draft {state.name.draft} is older than the project; publish the whole draft.")
    base, draft = compiler.snapshot(state.name.project, state.base_tree), snapshot_of(compiler, state)
    changes = changes_between(base, draft)
    chosen = [change for kind in Kind for change in changes[kind] if not _names(change).isdisjoint(ids)]
    _require_known(chosen, ids)
    workspace = Workspace(base, transaction.blob)
    workspace.apply(_edit(draft, change) for change in chosen)
    tree = write_project(transaction, replace(state, tree=state.base_tree), workspace.files)
    return Selection(tree, chosen)


def _edit(draft: Snapshot, change: Change) -> Edit:
    """Return the change as an edit; a page keeps its file, since the path of its content file is relative to it."""
    if change.new is None:
        return Delete(change.kind, change.id)
    if not isinstance(change.new, Page):
        return Put(change.kind, change.new)
    placed = draft.find(change.kind, change.id)
    file = placed.file.removeprefix(f"{draft.project}/") if placed else ""
    return Put(change.kind, change.new, file=file, is_inline=not change.new.content_file)


def _names(change: Change) -> set[str]:
    return {*chosen_names(item_kind(change.kind), change.id)}


def _require_known(chosen: Sequence[Change], ids: Collection[str]) -> None:
    unknown = set(ids).difference(*map(_names, chosen))
    if unknown:
        first = min(unknown)
        raise UnknownChange(f"The draft has no change with the id {first[:40]!r}.", first)
