"""Branches for the tests: pushed by C git, begun at a commit of release, and merged as one of the world would."""

from collections.abc import Mapping, Sequence
from typing import Any

from gitstore.git.repository import Author
from gitstore.layout import CommitId, proposal_id
from gitstore.proposals.publishing import MergeRequest, MergeResult, ProjectVerdicts, Scopes, no_project_verdicts
from gitstore.proposals.report import ProposalReport, ProposalState
from gitstore.pushes.push import Scope
from tests.gitstore.fixtures import ADA, SPACE, Place, git

ALL = Scope(everywhere=True)
MAY_ALL = Scopes(ALL, ALL, ALL)


def propose(
    place: Place, branch: str, files: Mapping[str, str | bytes | None], *, text: str = "By hand", on: str = ""
) -> CommitId:
    """Push a commit to a branch: on top of the branch if it exists, else of release, or of the commit `on`."""
    clone = place.clone()
    known = git(clone, "for-each-ref", "--format=%(refname)", f"refs/remotes/origin/{branch}")
    git(clone, "checkout", "--quiet", "--detach", on or (f"origin/{branch}" if known else "origin/release"))
    for path, content in files.items():
        target = clone / path
        if content is None:
            target.unlink()
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", text)
    git(clone, "push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
    return CommitId(git(clone, "rev-parse", "HEAD"))


def merge(
    place: Place,
    branch: str,
    *,
    by: Author = ADA,
    scopes: Scopes = MAY_ALL,
    verdicts: ProjectVerdicts = no_project_verdicts,
    **request: Any,
) -> MergeResult:
    """Merge the proposal of a branch."""
    wanted = MergeRequest(proposal_id(f"refs/heads/{branch}"), by, scopes, **request)
    return place.store.proposals.merge(SPACE, wanted, verdicts)


def report(place: Place, branch: str) -> ProposalReport:
    """Return the report on the proposal of a branch."""
    return place.store.proposals.report(SPACE, proposal_id(f"refs/heads/{branch}"))


def state(place: Place, branch: str, oldest: float = 0.0) -> ProposalState:
    """Return the state of the proposal of a branch; a head from before `oldest` is stale."""
    return report(place, branch).state(oldest)


def branches(place: Place) -> Sequence[str]:
    """Return the names of all branches."""
    return place.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
