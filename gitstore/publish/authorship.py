"""The subject of a review: the commits of a draft, and their authors."""

from collections.abc import Sequence
from dataclasses import dataclass

from content.changes.decision import Decisions
from content.changes.diff import Change
from gitstore.comparison.tree_changes import find_change
from gitstore.compiled.compiler import Compiler
from gitstore.drafts.decisions import read_decisions
from gitstore.drafts.drafts import DraftState, project_tree
from gitstore.errors import Invalid
from gitstore.git.ancestry import commits_between
from gitstore.git.objects import blob_id
from gitstore.git.refs import list_proposals
from gitstore.git.repository import Author, CommitInfo
from gitstore.layout import CommitId, TreeId, is_followed_ref
from gitstore.merge.merging import MergedFiles, MergeTrees, merge_trees

# Records times commits that are compared at most to find the authors of some changes; some 10 ms each at 100,000 rules.
_COMPARED = 200


@dataclass(frozen=True, slots=True)
class ReviewSubject:
    """A draft under review; without a draft `head` is None, and it is empty.

    `commits` are all that its publish would merge, `authors` their authors, each once, in order of first commit.
    `is_required` is true where release, as it is now, requires approval. `written` are the commits that have an author:
    all but the merges that only take in published content. `is_followed` is true where one is on a branch or pull request of the
    upstream: who pushed it there is not known here. `owners` are the code owners of what it changes, for those who show it.
    """

    head: CommitId | None
    commits: frozenset[CommitId]
    authors: tuple[Author, ...]
    is_required: bool
    written: frozenset[CommitId]
    is_followed: bool = False
    owners: tuple[str, ...] = ()


def read_review_subject(compiler: Compiler, state: DraftState) -> ReviewSubject:
    """Return the review subject of a draft, under release's current policy."""
    if state.head is None:
        required = is_review_required(compiler, state.name.project, state.release_tree)
        return ReviewSubject(None, frozenset(), (), required, frozenset())
    return read_branch_subject(compiler, state.name.project, (state.base, state.head), state.release_tree)


def read_branch_subject(
    compiler: Compiler, project: str, ends: tuple[CommitId, CommitId], release_tree: TreeId | None
) -> ReviewSubject:
    """Return the review subject of a branch for one project: its commits from a base to its head."""
    found = commits_between(compiler.repository, *ends)
    commits = frozenset(info.id for info in found)
    required = is_review_required(compiler, project, release_tree)
    written = [info for info in found if not _is_plain_merge(compiler, project, info, commits)]
    ids = frozenset(info.id for info in written)
    return ReviewSubject(
        ends[1], commits, _authors(written), required, ids, required and _is_followed(compiler, ends, ids)
    )


def _is_followed(compiler: Compiler, ends: tuple[CommitId, CommitId], written: frozenset[CommitId]) -> bool:
    """Tell whether a branch of the upstream that is followed here has any of these commits."""
    repository = compiler.repository
    refs = (ref for ref in list_proposals(repository.path) if is_followed_ref(ref))
    tips = {tip for ref in refs if (tip := repository.ref(ref))}
    if not written.isdisjoint(tips):
        return True
    return any(info.id in written for tip in tips for info in commits_between(repository, ends[0], tip))


def is_review_required(compiler: Compiler, project: str, release_tree: TreeId | None) -> bool:
    """Tell whether release requires approval; a project that it does not have has no policy yet."""
    return release_tree is not None and compiler.snapshot(project, release_tree).needs_review


def find_writers(
    compiler: Compiler, project: str, draft: ReviewSubject, changes: Sequence[Change]
) -> tuple[Author, ...]:
    """Return the authors of these changes of a draft: those of its commits that touched one of the records.

    Returns all authors of the draft where the comparison would cost too much, or where no single commit matches.
    """
    if len(draft.authors) == 1 or len(draft.commits) * len(changes) > _COMPARED:
        return draft.authors
    wrote = {
        info.author.email
        for info in map(compiler.repository.commit, draft.written)
        if _touches(compiler, project, info, changes)
    }
    return tuple(author for author in draft.authors if author.email in wrote) or draft.authors


def _touches(compiler: Compiler, project: str, info: CommitInfo, changes: Sequence[Change]) -> bool:
    """Return whether a commit changed one of these records against its first parent."""
    sides = (project_tree(compiler.repository, commit, project) for commit in (*info.parents[:1], info.id))
    before, after = (None, *sides)[-2:]
    trees = (before, after)
    return before != after and any(find_change(compiler, project, trees, each.kind, each.identity) for each in changes)


def _authors(written: Sequence[CommitInfo]) -> tuple[Author, ...]:
    """Return the authors of commits, by address, each with the name in the newest commit."""
    return tuple({info.author.email: info.author for info in reversed(written)}.values())


def _is_plain_merge(compiler: Compiler, project: str, info: CommitInfo, commits: frozenset[CommitId]) -> bool:
    """Return whether a commit only merges release into the draft: then its author wrote nothing."""
    if len(info.parents) != 2 or info.parents[0] not in commits or info.parents[1] in commits:  # noqa: PLR2004 - a merge
        return False
    draft, taken = info.parents
    base = compiler.repository.merge_base(taken, draft)
    trees = [project_tree(compiler.repository, commit, project) if commit else None for commit in (base, taken, draft)]
    if trees[1] is None:
        return False
    decisions = Decisions(read_decisions(compiler.repository, draft, base) if base else ())
    try:
        merged = merge_trees(compiler, project, MergeTrees(trees[0], trees[1], trees[2]), decisions)
    except Invalid:
        return False
    result = _files(compiler, project_tree(compiler.repository, info.id, project))
    return not merged.conflicts and result == _merged(compiler, trees[1], merged)


def _merged(compiler: Compiler, tree: TreeId, merged: MergedFiles) -> dict[str, str]:
    """Return the files of a merge by path, each as the id of its Git blob."""
    files = _files(compiler, tree)
    for path, content in merged.files.items():
        if content is None:
            files.pop(path, None)
        else:
            files[path] = blob_id(content) if isinstance(content, bytes) else content
    return files


def _files(compiler: Compiler, tree: TreeId | None) -> dict[str, str]:
    return {path: entry.id for path, entry in compiler.repository.files(tree)} if tree else {}
