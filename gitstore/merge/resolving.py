"""The resolution of a draft's conflicts with release, one by one or all together.

Resolutions are stored in the draft's commits; the last one merges release into the draft.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gitstore.compiled.compiler import Compiler
from gitstore.drafts.decisions import dump_decisions, read_decisions
from gitstore.drafts.drafts import (
    DraftName,
    DraftState,
    commit_draft,
    end_draft,
    project_tree,
    read_draft,
    require_draft,
    require_head,
)
from gitstore.errors import StaleVersion
from gitstore.git.repository import Author
from gitstore.git.transaction import Transaction
from gitstore.layout import CommitId
from gitstore.merge.applied_choices import apply_choices, merge_state
from gitstore.merge.choices import Choice, Conflict, match_choices
from gitstore.merge.draft_merge import write_merged
from gitstore.merge.file_texts import FileTexts
from gitstore.merge.merging import MergedFiles

_LISTED = "The draft", "GET …/draft"


@dataclass(frozen=True, slots=True)
class ResolveRequest:
    """The choices of a caller for conflicts of a draft; `head`, if given, must be the draft's.

    With `release`, the project must be published as it is at this commit.
    """

    name: DraftName
    choices: Sequence[Choice]
    author: Author
    head: str = ""
    release: str = ""


@dataclass(frozen=True, slots=True)
class ResolveResult:
    """The draft's head (None where it equals release and has ended), and the remaining conflicts."""

    head: CommitId | None
    settled: int
    conflicts: Sequence[Conflict]


def resolve(compiler: Compiler, transaction: Transaction, request: ResolveRequest) -> ResolveResult:
    """Resolve conflicts, all chosen ones or none.

    Raises StaleDraft or StaleVersion for other commits than those of the request, NotFound for a choice without a conflict, Invalid for a value that is not valid in its place.
    """
    state = read_draft(transaction, request.name)
    require_head(state, request.head)
    require_draft(state)
    _require_release(transaction, state, request.release)
    earlier = read_decisions(transaction, state.head, state.base)
    conflicts = merge_state(compiler, state, earlier).conflicts
    chosen = match_choices(conflicts, list(enumerate(request.choices)), _LISTED)
    tree, decisions, merged = apply_choices(compiler, transaction, state, earlier, chosen)
    if merged.conflicts:
        text = dump_decisions(f"Resolve {_count(len(chosen))}; {_count(len(merged.conflicts))} left", decisions)
        head: CommitId | None = commit_draft(transaction, state, tree, request.author, text)
    else:
        head = _merge_release_in(transaction, state, merged, request.author, len(chosen))
    rest = FileTexts(compiler.repository).add(state.name.project, merged.conflicts)
    return ResolveResult(head, len(chosen), rest)


def _require_release(transaction: Transaction, state: DraftState, release: str) -> None:
    """Raise StaleVersion where the project is not published as it is at a commit; publishes of other projects are ignored."""
    if release in {"", state.release}:
        return
    project, commit = state.name.project, CommitId(release)
    if not transaction.has_commit(commit) or project_tree(transaction, commit, project) != state.release_tree:
        raise StaleVersion(
            f"The project {project} is published otherwise than at {release[:40]}, which the request expects; nothing was "
            "resolved. Read the conflicts again, then choose."
        )


def _merge_release_in(
    transaction: Transaction, state: DraftState, merged: MergedFiles, author: Author, count: int
) -> CommitId | None:
    """Merge release into the draft, which ends where it then equals release."""
    tree = write_merged(transaction, state, merged)
    if tree == state.release_tree:
        end_draft(transaction, state)
        return None
    text = f"Merge release; {_count(count)} resolved\n"
    return commit_draft(transaction, state, tree, author, text, merges=state.release)


def _count(count: int) -> str:
    return "1 conflict" if count == 1 else f"{count} conflicts"
