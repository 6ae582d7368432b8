"""The merge of a draft into release: its three trees, its result, and the merged tree."""

from collections.abc import Collection, Sequence

from content.changes.decision import Decisions
from gitstore.compiled.compiler import Compiler
from gitstore.drafts.decisions import read_decisions
from gitstore.drafts.drafts import DraftState
from gitstore.errors import Conflicts, NothingToPublish
from gitstore.git.transaction import Transaction
from gitstore.layout import TreeId
from gitstore.merge.file_texts import FileTexts
from gitstore.merge.merging import MergedFiles, MergeTrees, merge_trees


def merge_draft(compiler: Compiler, state: DraftState, ids: Collection[str] = ()) -> MergedFiles:
    """Return the changes of the draft's publish to release's files, and its conflicts.

    Decisions apply; with `ids`, for a publish of some changes, only those on these records.
    """
    found = () if state.is_alone else read_decisions(compiler.repository, state.head, state.base, ids)
    return merge_trees(compiler, state.name.project, trees_of(state), Decisions(found))


def trees_of(state: DraftState) -> MergeTrees:
    """Return the three trees of a draft's merge."""
    return MergeTrees(state.base_tree, state.release_tree, state.tree)


def merged_tree(compiler: Compiler, transaction: Transaction, state: DraftState, ids: Collection[str] = ()) -> TreeId:
    """Write the project's tree with the draft merged; raises Conflicts where conflicts are unresolved."""
    if state.is_alone and state.tree:
        return state.tree
    merged = merge_draft(compiler, state, ids)
    if merged.conflicts:
        shown = FileTexts(compiler.repository).add(state.name.project, merged.conflicts)
        raise Conflicts(_conflict_text(merged.conflicts), shown)
    return write_merged(transaction, state, merged)


def write_merged(transaction: Transaction, state: DraftState, merged: MergedFiles) -> TreeId:
    """Write release's tree of the project with the changes of the merge."""
    blobs = {
        path: transaction.write_blob(data) if isinstance(data, bytes) else data for path, data in merged.files.items()
    }
    tree = transaction.write_files(state.release_tree, blobs)
    if tree is None:
        raise NothingToPublish(f"The draft {state.name.draft} would leave {state.name.project} without any file.")
    return tree


def _conflict_text(conflicts: Sequence[dict[str, object]]) -> str:
    count = "1 field was" if len(conflicts) == 1 else f"{len(conflicts)} fields were"
    return f"{count} changed differently in the draft and on release. Resolve the conflicts, then publish."
