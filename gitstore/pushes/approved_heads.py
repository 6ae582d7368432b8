"""The approvals of pushed commits: a commit on release is an approved head of a branch, or merges one and nothing else.

A head is approved for all branches that have it, and while one of them has it.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

from content.changes.decision import Decisions
from gitstore.compiled.compiler import Compiler
from gitstore.drafts.drafts import DraftName, DraftState, project_tree
from gitstore.errors import ApprovalRequired, Invalid, NoVerdict
from gitstore.git.objects import blob_id
from gitstore.git.refs import list_refs
from gitstore.git.repository import Author, CommitInfo, Repository
from gitstore.layout import BRANCH_PREFIX, COMMIT_PREFIX, RELEASE_REF, BlobId, CommitId, TreeId
from gitstore.merge.merging import MergeTrees, merge_trees
from gitstore.publish.approval import require_approval
from gitstore.publish.authorship import ReviewSubject, read_review_subject
from gitstore.pushes.answer import short
from gitstore.pushes.branch_changes import ProjectChange
from gitstore.pushes.push import PushRecords


class Approval(NamedTuple):
    """The approval of one project in a commit: the approvers, or (None) the reasons why there is none."""

    approvers: tuple[Author, ...] | None
    reasons: tuple[str, ...] = ()


def needs_approval(compiler: Compiler, change: ProjectChange) -> bool:
    """Tell whether release, as it is before a change, requires an approval of it."""
    return bool(change.before) and compiler.snapshot(change.project, TreeId(str(change.before))).needs_review


class ApprovedHeads:
    """The approvals of the commits of one push, by the verdicts on the heads that branches have now."""

    def __init__(self, compiler: Compiler, records: PushRecords) -> None:
        self._compiler = compiler
        self._records = records
        self._found = list[tuple[DraftState, ReviewSubject]]()

    def find(self, parent: CommitId, info: CommitInfo, change: ProjectChange) -> Approval:
        """Find the approval of a commit, or of a head that it merges; `parent` is the commit on release before it."""
        compiler, reasons = self._compiler, list[str]()
        for head in (info.id, *info.parents[1:]):
            base = parent if head == info.id else compiler.repository.merge_base(parent, head)
            if base is None or head == base:
                continue
            try:
                if head != info.id:
                    _require_plain_merge(compiler, change, (base, parent, head))
                found = _read_head(compiler, parent, head, base, change)
                approvers = self._require(*found)
                self._require_branch(head)
                self._found.append(found)
                return Approval(approvers)
            except ApprovalRequired as ex:
                reasons += [] if isinstance(ex, NoVerdict) else [str(ex)]
        return Approval(None, tuple(reasons))

    def confirm(self) -> None:
        """Read the verdicts again, since reviews go on while a push is checked; raises ApprovalRequired."""
        for state, subject in self._found:
            self._require(state, subject)

    def _require(self, state: DraftState, subject: ReviewSubject) -> tuple[Author, ...]:
        verdicts = self._records.verdicts(state.name.project, subject)
        return require_approval(state, subject, verdicts, overridden=False)

    def _require_branch(self, head: CommitId) -> None:
        """Raise ApprovalRequired unless a draft or proposal is at a head: a later change voids the approval."""
        if head not in self._branch_heads:
            raise ApprovalRequired(f"The commit {short(head)} was approved, but no branch is at it any more.")

    @cached_property
    def _branch_heads(self) -> frozenset[CommitId]:
        refs = list_refs(self._compiler.repository.path, is_lenient=True)
        branches = (ref for ref in refs if ref.startswith(BRANCH_PREFIX) and ref != RELEASE_REF)
        return frozenset(refs[ref] for ref in branches)


def _read_head(
    compiler: Compiler, parent: CommitId, head: CommitId, base: CommitId, change: ProjectChange
) -> tuple[DraftState, ReviewSubject]:
    repository, project = compiler.repository, change.project
    trees = [project_tree(repository, commit, project) for commit in (head, base)]
    name = DraftName(project, f"{COMMIT_PREFIX}{short(head)}")
    state = DraftState(name, head, head, base, parent, trees[0], trees[1], TreeId(str(change.before)))
    return state, read_review_subject(compiler, state)


def _require_plain_merge(
    compiler: Compiler, change: ProjectChange, commits: tuple[CommitId, CommitId, CommitId]
) -> None:
    """Raise ApprovalRequired if a merge has another content of the project than its two sides give."""
    trees = [project_tree(compiler.repository, commit, change.project) for commit in commits]
    sides = [_files(compiler.repository, tree) for tree in trees]
    result = _files(compiler.repository, change.after)
    paths = set().union(*sides, result)
    open_paths = {path for path in paths if result.get(path) not in _expected(path, *sides)}
    if open_paths and open_paths != _found_in_merge(
        compiler, change, (trees[0], trees[1], trees[2]), result, open_paths
    ):
        raise ApprovalRequired(
            f"The merge of {short(commits[2])} changes more of {change.project} than that head and release do, such as "
            f"{change.project}/{min(open_paths)}."
        )


def _expected(
    path: str, base: Mapping[str, str], ours: Mapping[str, str], theirs: Mapping[str, str]
) -> list[str | None]:
    """Return the content of a file that both sides give; none where both changed it differently."""
    before, one, other = base.get(path), ours.get(path), theirs.get(path)
    if other in {one, before}:
        return [one]
    return [other] if one == before else []


def _found_in_merge(
    compiler: Compiler,
    change: ProjectChange,
    trees: tuple[TreeId | None, TreeId | None, TreeId | None],
    result: Mapping[str, str],
    paths: set[str],
) -> set[str]:
    """Return those of the paths that have the content that the merge by rule gives."""
    base, ours, theirs = trees
    if ours is None:
        return set()
    try:
        merged = merge_trees(compiler, change.project, MergeTrees(base, ours, theirs), Decisions())
    except Invalid:
        return set()
    if merged.conflicts:
        return set()
    files: dict[str, str | None] = {**_files(compiler.repository, ours), **_ids(merged.files)}
    return {path for path in paths if files.get(path) == result.get(path)}


def _ids(files: Mapping[str, bytes | BlobId | None]) -> dict[str, str | None]:
    return {path: blob_id(content) if isinstance(content, bytes) else content for path, content in files.items()}


def _files(repository: Repository, tree: TreeId | None) -> dict[str, str]:
    return {path: entry.id for path, entry in repository.files(tree)} if tree else {}
