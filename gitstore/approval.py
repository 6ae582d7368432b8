"""The approval that a publish needs: held against the draft and the policy as they are under the lock."""

from collections.abc import Sequence
from typing import NamedTuple

from gitstore.authorship import UnderReview
from gitstore.drafts import DraftState
from gitstore.errors import ApprovalRequired
from gitstore.layout import CommitId
from gitstore.repository import Author


class Verdict(NamedTuple):
    """What a reviewer thinks last of one head of a draft.

    `independent` is false of one who had a hand in it otherwise than by a commit, such as by asking for the review.
    """

    head: CommitId
    reviewer: Author
    approves: bool
    independent: bool = True


def approvers(
    state: DraftState, draft: UnderReview, verdicts: Sequence[Verdict], *, overridden: bool
) -> tuple[Author, ...]:
    """Who approved what is published, for its commit.

    Raises ApprovalRequired where release wants an approval of just this head, and neither a person who is not among
    its authors has given one that stands, nor is it overridden.
    """
    verdicts = [verdict for verdict in verdicts if verdict.head == state.head]
    if draft.is_required:
        verdicts = [verdict for verdict in verdicts if _counts(draft, verdict)]
    approvals = [verdict for verdict in verdicts if verdict.approves]
    if draft.is_required and not overridden:
        _must_stand(state, approvals, [verdict for verdict in verdicts if not verdict.approves])
    return tuple(verdict.reviewer for verdict in approvals)


def _counts(draft: UnderReview, verdict: Verdict) -> bool:
    """Nobody judges what they wrote themselves."""
    return verdict.independent and verdict.reviewer.email not in {author.email for author in draft.authors}


def _must_stand(state: DraftState, approvals: Sequence[Verdict], rejections: Sequence[Verdict]) -> None:
    name = f"The draft {state.name.draft} of {state.name.project}"
    if rejections:
        who = ", ".join(verdict.reviewer.name for verdict in rejections)
        raise ApprovalRequired(
            f"{name} was rejected by {who}. Change what they ask for, or have them approve it after all."
        )
    if not approvals:
        raise ApprovalRequired(
            f"{name} needs the approval of somebody who did not write it, of just the state that it is in now "
            f"({state.head}). Have it reviewed, or publish with an override that says why."
        )
