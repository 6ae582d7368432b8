"""The branches of proposals: made from a draft, brought up to date with release, and removed."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from gitstore.compiled.compiler import Compiler
from gitstore.drafts.drafts import DraftName, read_draft, require_draft, require_head
from gitstore.errors import AlreadyExists, BadRequest, LostRace, NotAllowed, NothingToChange
from gitstore.git.branch_names import BranchNames
from gitstore.git.repository import Author, Repository
from gitstore.git.transaction import Transaction
from gitstore.layout import BRANCH_PREFIX, CommitId, is_followed_ref, proposal_id
from gitstore.merge.choices import Choice
from gitstore.proposals.merging import require_distinct_names, write_files_beside, write_projects
from gitstore.proposals.proposal import Proposal, read_proposal, read_proposals, require_intact
from gitstore.proposals.resolving import require_release, resolve_proposal
from gitstore.pushes.answer import Refused
from gitstore.pushes.push import Scope
from gitstore.pushes.ref_names import require_proposal_name

_SHOWN = 100
_EMPTY_SECONDS = 7 * 86_400  # for which a branch without any commit of its own stays


def create_from_draft(transaction: Transaction, branch: str, name: DraftName, head: str = "") -> Proposal:
    """Make a branch at the head of a draft, which stays; raises AlreadyExists for a branch that exists."""
    ref = f"{BRANCH_PREFIX}{branch}"
    try:
        require_proposal_name(transaction, ref)
    except Refused as ex:
        raise BadRequest(*ex.lines) from ex
    state = read_draft(transaction, name)
    require_draft(state)
    require_head(state, head)
    if BranchNames(transaction.path).find_lookalike(ref) or transaction.ref(ref):
        raise AlreadyExists(
            f"The branch {branch[:_SHOWN]} already exists (names ignore case and Unicode form). Choose another name.",
            "/branch",
        )
    if state.head:
        transaction.move(ref, None, state.head)
    return read_proposal(transaction, proposal_id(ref))


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """A request to merge release into the branch of a proposal, with choices for its conflicts.

    `head`, if given, must be the branch's. With `release`, all that the branch changes must be on release as it is at this commit.
    """

    id: str
    author: Author
    scope: Scope
    head: str = ""
    release: str = ""
    choices: Sequence[Choice] = ()


def update_branch(compiler: Compiler, transaction: Transaction, request: UpdateRequest) -> Proposal:
    """Merge release into the branch of a proposal, by rule, and return the proposal as it is then.

    Raises StaleProposal or StaleVersion for other commits than those of the request, NothingToChange where the branch has all
    of release, NotFound for a choice without a conflict, Conflicts or Invalid where the merge is not complete.
    """
    proposal = read_proposal(transaction, request.id, request.head)
    _require_own(proposal, "Merge release into it there.")
    _require_scope(proposal, request.scope)
    _, tip = require_intact(proposal)
    if proposal.is_merged or proposal.base == proposal.release:
        raise NothingToChange(f"The branch {proposal.branch} has all commits of release; nothing to merge.")
    require_release(transaction, proposal, request.release)
    merge = resolve_proposal(compiler, transaction, proposal, request.choices)
    merge.require_clean(proposal.branch)
    trees, root = write_projects(transaction, merge), write_files_beside(transaction, proposal.release, merge)
    require_distinct_names(transaction, root, trees)
    for name, tree in trees.items():
        root = transaction.put_folder(root, name, tree)
    message = f"Merge release into {proposal.branch}{_resolved(len(request.choices))}\n"
    written = transaction.write_commit(root, (tip, proposal.release), request.author, message, unique=True)
    transaction.move(proposal.ref, tip, written)
    return read_proposal(transaction, request.id)


def _resolved(count: int) -> str:
    return f"; {count} conflict{'s' if count > 1 else ''} resolved" if count else ""


def delete_branch(transaction: Transaction, wanted: str, scope: Scope, head: str = "") -> CommitId | None:
    """Remove the branch of a proposal, also a damaged one; return the commit it was at, None if it cannot be read."""
    proposal = read_proposal(transaction, wanted, head)
    _require_own(proposal, "Delete it, or close the pull request, there.")
    _require_scope(proposal, scope)
    transaction.remove(proposal.ref, proposal.head)
    return proposal.head


def _require_own(proposal: Proposal, action: str) -> None:
    """Raise NotAllowed for a branch of the upstream, which decides on it."""
    if is_followed_ref(proposal.ref):
        raise NotAllowed(f"The branch {proposal.branch[:_SHOWN]} follows the upstream; nothing changed. {action}")


def _require_scope(proposal: Proposal, scope: Scope) -> None:
    """Raise NotAllowed unless the caller may write all that the proposal changes; a damaged one may change anything."""
    missing = [name for name in proposal.projects if not scope.covers(name)]
    if missing:
        raise NotAllowed(f"This requires a write grant in {', '.join(missing[:_SHOWN])}; nothing changed.")
    if not scope.everywhere and (proposal.changes_files or not proposal.projects):
        raise NotAllowed(
            "This requires a write grant in every project, since the branch changes files beside the projects, or cannot be "
            "read; nothing changed."
        )


def find_swept(repository: Repository) -> list[Proposal]:
    """Return the proposals whose branches are not needed: release has merged them.

    A branch at a commit of release itself has no commit of its own yet; it stays for a week from that commit.
    """
    merged = [each for each in read_proposals(repository) if each.is_merged]
    oldest = time.time() - _EMPTY_SECONDS
    return [each for each in merged if each.projects or each.changes_files or each.time < oldest]


def sweep(transaction: Transaction) -> list[str]:
    """Remove the branches that release has merged; return their names."""
    removed = []
    for proposal in find_swept(transaction):
        try:
            transaction.remove(proposal.ref, proposal.head)
        except LostRace:  # it has new commits
            continue
        removed.append(proposal.branch)
    return removed
