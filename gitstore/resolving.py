"""Settling the conflicts of a draft with release, one by one or all together.

What is settled first is kept in the draft's commits; the last choice merges release into the draft.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from content.decision import Decision, Decisions
from gitstore.choice_values import check_file
from gitstore.choices import FILE, Choice, Conflict, choose, decisions_of, kind_of
from gitstore.chosen import Chosen
from gitstore.compiler import Compiler
from gitstore.decisions import dump_decisions, read_decisions
from gitstore.drafts import (
    DraftName,
    DraftState,
    commit_draft,
    end_draft,
    must_exist,
    must_stand_at,
    read_draft,
    snapshot_of,
    write_project,
)
from gitstore.layout import BlobId, CommitId, TreeId
from gitstore.merging import MergedFiles, Trees, merge_trees
from gitstore.publishing import write_merged
from gitstore.repository import Author
from gitstore.snapshot import Snapshot
from gitstore.update import Update


@dataclass(frozen=True, slots=True)
class ResolveOrder:
    """What a caller chooses for the conflicts of a draft; `head`, where given, must be the draft's."""

    name: DraftName
    choices: Sequence[Choice]
    author: Author
    head: str = ""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The draft's head (None where it ended, for nothing was left of it), and the conflicts that remain."""

    head: CommitId | None
    settled: int
    conflicts: Sequence[Conflict]


def resolve(compiler: Compiler, update: Update, order: ResolveOrder) -> Resolved:
    """Settle conflicts, all that are named or none.

    NotFound for a choice without a conflict, Invalid for a value that cannot be.
    """
    state = read_draft(update, order.name)
    must_stand_at(state, order.head)
    must_exist(state)
    earlier = read_decisions(update, state.head, state.base)
    chosen = choose(_merge(compiler, state, state.tree, earlier).conflicts, order.choices)
    tree = _apply(compiler, update, state, chosen)
    decisions = list(chain.from_iterable(decisions_of(*pair) for pair in chosen))
    merged = _merge(compiler, state, tree, [*earlier, *decisions])
    if merged.conflicts:
        text = dump_decisions(f"Settle {_count(len(chosen))}; {_count(len(merged.conflicts))} left", decisions)
        head: CommitId | None = commit_draft(update, state, tree, order.author, text)
    else:
        head = _take_in(update, state, merged, order.author, len(chosen))
    return Resolved(head, len(chosen), merged.conflicts)


def _merge(compiler: Compiler, state: DraftState, tree: TreeId | None, settled: Sequence[Decision]) -> MergedFiles:
    trees = Trees(state.base_tree, state.release_tree, tree)
    return merge_trees(compiler, state.name.project, trees, Decisions(settled))


def _take_in(update: Update, state: DraftState, merged: MergedFiles, author: Author, count: int) -> CommitId | None:
    """Merge release into the draft, which ends where it is what release has."""
    tree = write_merged(update, state, merged)
    if tree == state.release_tree:
        end_draft(update, state)
        return None
    text = f"Take release in; {_count(count)} settled\n"
    return commit_draft(update, state, tree, author, text, merges=state.release)


def _apply(compiler: Compiler, update: Update, state: DraftState, chosen: Sequence[tuple[Choice, Conflict]]) -> TreeId:
    """The draft's folder with what was chosen in it."""
    project = state.name.project
    draft = snapshot_of(compiler, state)
    release = compiler.snapshot(project, state.release_tree)
    files = _files(update, release, chosen)
    applied = _apply_rules(draft, release, chosen)
    tree = write_project(update, state, applied.lists.dump(update.blob))
    return update.write_files(tree, files) or tree


def _apply_rules(draft: Snapshot, release: Snapshot, chosen: Sequence[tuple[Choice, Conflict]]) -> Chosen:
    by_rule: dict[tuple[str, str], list[tuple[int, Choice, Conflict]]] = defaultdict(list)
    for place, (choice, conflict) in enumerate(chosen):
        if choice.kind != FILE:
            by_rule[choice.kind, choice.id].append((place, choice, conflict))
    applied = Chosen(draft, release)
    for choices in by_rule.values():
        applied.apply(kind_of(choices[0][1]), choices)
    return applied


def _files(update: Update, release: Snapshot, chosen: Sequence[tuple[Choice, Conflict]]) -> dict[str, BlobId | None]:
    """The files beside the lists of rules, such as project.yaml, that are not the draft's any more."""
    files: dict[str, BlobId | None] = {}
    for place, (choice, conflict) in enumerate(chosen):
        path = choice.id.removeprefix(f"{release.project}/")
        if choice.kind == FILE and choice.take == "release":
            files[path] = conflict["release"]
        elif choice.kind == FILE and choice.take == "value":
            files[path] = update.write_blob(check_file(choice, release.project, place))
    return files


def _count(count: int) -> str:
    return "1 conflict" if count == 1 else f"{count} conflicts"
