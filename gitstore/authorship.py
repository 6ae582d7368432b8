"""What a review of a draft is of: its commits, and the people who wrote them."""

from collections.abc import Sequence
from dataclasses import dataclass

from dulwich.objects import Blob

from content.decision import Decisions
from content.diff import Change
from gitstore.ancestry import commits_between
from gitstore.compiler import Compiler
from gitstore.decisions import read_decisions
from gitstore.drafts import DraftState, project_tree
from gitstore.errors import Invalid
from gitstore.layout import CommitId, TreeId
from gitstore.merging import MergedFiles, Trees, merge_trees
from gitstore.repository import Author, CommitInfo
from gitstore.tree_changes import change_of

_COMPARED = 200
"""How many records of commits are compared at most to tell who wrote a part of a draft; some 10 ms each at 100,000 rules."""


@dataclass(frozen=True, slots=True)
class UnderReview:
    """A draft as its reviewers see it; without a draft `head` is None, and nothing is in it.

    `commits` are all that publishing it would bring, `authors` the people who wrote them, each once, the first first.
    `is_required` tells whether release, as it is now, wants an approval.
    """

    head: CommitId | None
    commits: frozenset[CommitId]
    authors: tuple[Author, ...]
    is_required: bool


def read_under_review(compiler: Compiler, state: DraftState) -> UnderReview:
    """What there is to review in a draft, under the policy that release has now."""
    required = compiler.snapshot(state.name.project, state.release_tree).needs_review
    if state.head is None:
        return UnderReview(None, frozenset(), (), required)
    found = commits_between(compiler.repository, state.base, state.head)
    commits = frozenset(info.id for info in found)
    return UnderReview(state.head, commits, _authors(compiler, state.name.project, found, commits), required)


def writers(compiler: Compiler, project: str, draft: UnderReview, changes: Sequence[Change]) -> tuple[Author, ...]:
    """Who wrote these changes of a draft: the authors of its commits that touched one of the records.

    All authors of the draft where that would be too much to compare, or where no single commit can be told.
    """
    if len(draft.authors) == 1 or len(draft.commits) * len(changes) > _COMPARED:
        return draft.authors
    wrote = {
        info.author.email
        for info in map(compiler.repository.commit, draft.commits)
        if not _only_takes_in(compiler, project, info, draft.commits) and _touches(compiler, project, info, changes)
    }
    return tuple(author for author in draft.authors if author.email in wrote) or draft.authors


def _touches(compiler: Compiler, project: str, info: CommitInfo, changes: Sequence[Change]) -> bool:
    """Tell whether a commit changed one of these records against its first parent."""
    sides = (project_tree(compiler.repository, commit, project) for commit in (*info.parents[:1], info.id))
    before, after = (None, *sides)[-2:]
    trees = (before, after)
    return before != after and any(change_of(compiler, project, trees, each.kind, each.identity) for each in changes)


def _authors(
    compiler: Compiler, project: str, found: list[CommitInfo], commits: frozenset[CommitId]
) -> tuple[Author, ...]:
    """Whoever wrote a commit, by address; the name is the one of their newest."""
    people: dict[str, Author] = {}
    for info in reversed(found):
        if not _only_takes_in(compiler, project, info, commits):
            people[info.author.email] = info.author
    return tuple(people.values())


def _only_takes_in(compiler: Compiler, project: str, info: CommitInfo, commits: frozenset[CommitId]) -> bool:
    """Tell whether a commit merges release into the draft and adds nothing of its own: its author then wrote nothing."""
    if len(info.parents) != 2 or info.parents[0] not in commits or info.parents[1] in commits:  # noqa: PLR2004 - a merge
        return False
    draft, taken = info.parents
    base = compiler.repository.merge_base(taken, draft)
    trees = [project_tree(compiler.repository, commit, project) if commit else None for commit in (base, taken, draft)]
    if trees[1] is None:
        return False
    settled = Decisions(read_decisions(compiler.repository, draft, base) if base else ())
    try:
        merged = merge_trees(compiler, project, Trees(trees[0], trees[1], trees[2]), settled)
    except Invalid:
        return False
    result = _files(compiler, project_tree(compiler.repository, info.id, project))
    return not merged.conflicts and result == _merged(compiler, trees[1], merged)


def _merged(compiler: Compiler, tree: TreeId, merged: MergedFiles) -> dict[str, str]:
    """The files that merging gives, by path, each by the name that Git has for its content."""
    files = _files(compiler, tree)
    for path, content in merged.files.items():
        if content is None:
            files.pop(path, None)
        else:
            files[path] = Blob.from_string(content).id.decode() if isinstance(content, bytes) else content
    return files


def _files(compiler: Compiler, tree: TreeId | None) -> dict[str, str]:
    return {path: entry.id for path, entry in compiler.repository.files(tree)} if tree else {}
