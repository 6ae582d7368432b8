"""The publish of a proposal: each project that it changes is merged by rule, and all are published as one commit, or none."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import NamedTuple

from gitstore.compiled.compiler import Compiler
from gitstore.drafts.drafts import DraftName, DraftState, project_tree
from gitstore.errors import NotAllowed, NotFound, NothingToPublish, StaleProposal
from gitstore.git.after_commit import after_commit
from gitstore.git.repository import Author
from gitstore.git.transaction import Transaction
from gitstore.history.messages import (
    APPROVED_BY,
    MERGED_PROPOSAL,
    OVERRIDE,
    WRITTEN_BY,
    signature,
)
from gitstore.layout import PROPOSAL_PREFIX, CommitId
from gitstore.proposals.merges import merged_proposal, published_projects
from gitstore.proposals.merging import (
    ProposalMerge,
    merge_proposal,
    require_distinct_names,
    write_files_beside,
    write_projects,
)
from gitstore.proposals.proposal import Proposal, merge_message, read_proposal, require_intact
from gitstore.publish.advance import PublishResult, ReleaseCommit, ReleaseUpdate, commit_together
from gitstore.publish.approval import ApprovalCheck, Verdict
from gitstore.publish.authorship import ReviewSubject, read_branch_subject
from gitstore.publish.signature_policy import require_signed_branch
from gitstore.pushes.push import Scope

_RETRY_WINDOW = 200  # commits of release in which a repeated request finds its publish

Trailers = Mapping[str, str | tuple[str, ...]]
# Returns the current latest verdict of each reviewer of a proposal on one project; called with the lock held.
ProjectVerdicts = Callable[[str, ReviewSubject], Sequence[Verdict]]


class Scopes(NamedTuple):
    """The projects in which a caller may publish, override the policy, and change the project itself.

    Files beside the projects need `change` everywhere, and for an override `override` everywhere.
    """

    publish: Scope
    override: Scope
    change: Scope


BESIDE = ("",)
"""In the place of the projects of a proposal that changes only files beside them."""


@dataclass(frozen=True, slots=True)
class MergeRequest:
    """A request to merge a proposal into release.

    `head`, if given, must be the branch's; `override` is the reason to merge without approval.
    """

    id: str
    publisher: Author
    scopes: Scopes
    head: str = ""
    message: str = ""
    override: str = ""


class MergeResult(NamedTuple):
    """A merged proposal: its head, the commit on release, and the publish of each project."""

    id: str
    branch: str
    head: CommitId
    commit: CommitId
    projects: Mapping[str, PublishResult]

    @property
    def numbers(self) -> Mapping[str, int | None]:
        """The publish number of each project; that of BESIDE is None, where no project changed."""
        return {name: each.number for name, each in self.projects.items()} or dict.fromkeys(BESIDE)


def no_project_verdicts(_project: str, _subject: ReviewSubject) -> Sequence[Verdict]:
    """Return no verdicts."""
    return ()


def merge_into_release(
    compiler: Compiler, transaction: Transaction, request: MergeRequest, verdicts: ProjectVerdicts = no_project_verdicts
) -> MergeResult:
    """Publish all projects of a proposal, and remove its branch; repeated after a lost reply, return the same publish.

    Raises NotFound, StaleProposal, NotAllowed, ApprovalRequired, SignatureRequired, Conflicts, Invalid, NothingToPublish or LostRace, without
    a change.
    """
    try:
        proposal = read_proposal(transaction, request.id, request.head)
    except (NotFound, StaleProposal):
        found = _find_merged(compiler, transaction, request)
        if found:
            return found
        raise
    if proposal.is_merged:
        return _finish_merged(compiler, transaction, request, proposal)
    _require_scopes(transaction, request, proposal)
    found_checks = (_approval_check(compiler, request, proposal, name, verdicts) for name in proposal.projects)
    checks = [check for check in found_checks if check]
    for check in checks:
        if check.draft.is_required:
            check.trailers()
    if not request.override:
        require_signed_branch(transaction, proposal.release, require_intact(proposal))
    merge = merge_proposal(compiler, proposal)
    merge.require_clean(proposal.branch)
    if merge.is_empty:
        raise NothingToPublish(
            f"Release has all changes of the proposal {request.id} already; nothing to publish. Delete the proposal."
        )
    result = _publish(compiler, transaction, request, proposal, merge, checks)
    with after_commit("removing the merged branch"):  # the sweep removes it, or the same request again
        transaction.remove(proposal.ref, proposal.head)
    return result


def _finish_merged(
    compiler: Compiler, transaction: Transaction, request: MergeRequest, proposal: Proposal
) -> MergeResult:
    """Return the publish of a proposal that was interrupted before its branch was removed."""
    found = _find_merged(compiler, transaction, request, proposal.head)
    if found is None:
        raise NothingToPublish(
            f"Release has all commits of the branch {proposal.branch} already; nothing to publish. Delete the proposal."
        )
    with after_commit("removing the merged branch"):
        transaction.remove(proposal.ref, proposal.head)
    return found


def _require_scopes(transaction: Transaction, request: MergeRequest, proposal: Proposal) -> None:
    """Raise NotAllowed unless the publisher may publish all that the proposal changes."""
    scopes = request.scopes
    if proposal.changes_files and not scopes.change.everywhere:
        raise _missing("project:write", "every project, since it changes files beside the projects")
    if (
        proposal.changes_files and request.override and not scopes.override.everywhere
    ):  # the signers of all projects are there
        raise _missing("project:override", "every project, since it changes files beside the projects")
    for name in proposal.projects:
        if not scopes.publish.covers(name):
            raise _missing("project:publish", name)
        if request.override and not scopes.override.covers(name):
            raise _missing("project:override", name)
        if not scopes.change.covers(name) and _adds_or_removes(transaction, proposal, name):
            raise _missing("project:write", f"{name}, which it adds or removes")


def _adds_or_removes(transaction: Transaction, proposal: Proposal, name: str) -> bool:
    ends = (proposal.release, require_intact(proposal)[1])
    return None in {project_tree(transaction, commit, name) for commit in ends}


def _missing(grant: str, where: str) -> NotAllowed:
    return NotAllowed(f"Merging this proposal requires {grant} in {where}; nothing was published.")


def _approval_check(
    compiler: Compiler, request: MergeRequest, proposal: Proposal, project: str, verdicts: ProjectVerdicts
) -> ApprovalCheck | None:
    """Return the approval check of one project; None for a new one, which has no policy."""
    base, head = require_intact(proposal)
    release_tree = project_tree(compiler.repository, proposal.release, project)
    if release_tree is None:
        return None
    name = DraftName(project, f"{PROPOSAL_PREFIX}{proposal.branch}")  # as people know it
    state = DraftState(name, head, head, base, proposal.release, None, None, release_tree)
    subject = read_branch_subject(compiler, project, (base, head), release_tree)
    return ApprovalCheck(state, subject, partial(verdicts, project), request.override)


def _publish(
    compiler: Compiler,
    transaction: Transaction,
    request: MergeRequest,
    proposal: Proposal,
    merge: ProposalMerge,
    checks: Sequence[ApprovalCheck],
) -> MergeResult:
    release, (_, head) = proposal.release, require_intact(proposal)
    trees, root = write_projects(transaction, merge), write_files_beside(transaction, release, merge)
    require_distinct_names(transaction, root, trees)
    authors = {author.email: author for check in checks for author in check.draft.authors}
    if not authors:  # only new projects, or files beside the projects
        subject = read_branch_subject(compiler, "", require_intact(proposal), None)
        authors = {author.email: author for author in subject.authors}
    commit = ReleaseCommit(
        release,
        request.publisher,
        request.message.strip() or merge_message(transaction, proposal),
        {WRITTEN_BY: tuple(map(signature, authors.values())), MERGED_PROPOSAL: request.id},
        head,
        partial(_join_trailers, checks, request.override),
        root,
    )
    updates = [
        ReleaseUpdate(
            name, release, tree, request.publisher, requires_same_policy=not request.scopes.override.covers(name)
        )
        for name, tree in trees.items()
    ]
    written, published = commit_together(compiler, transaction, commit, updates)
    return MergeResult(request.id, proposal.branch, head, written, published)


def _join_trailers(checks: Sequence[ApprovalCheck], override: str) -> Trailers:
    """Return the approvers of all projects, or raise ApprovalRequired; called right before the commit is written."""
    names = dict.fromkeys(name for check in checks for name in _approvers(check))
    return {APPROVED_BY: tuple(names), OVERRIDE: override}


def _approvers(check: ApprovalCheck) -> tuple[str, ...]:
    found = check.trailers()[APPROVED_BY]
    return (found,) if isinstance(found, str) else found


def _find_merged(
    compiler: Compiler, transaction: Transaction, request: MergeRequest, head: CommitId | None = None
) -> MergeResult | None:
    """Return the publish that merged the proposal, at the head of the request if it names one."""
    wanted = head or request.head
    for info in islice(transaction.first_parents(transaction.release()), _RETRY_WINDOW):
        merged = merged_proposal(info, request.id)
        if merged and wanted in {"", merged}:
            return MergeResult(request.id, "", merged, info.id, dict(published_projects(compiler, transaction, info)))
    return None
