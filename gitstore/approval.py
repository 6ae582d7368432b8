"""The approval that a publish needs: held against the draft and the policy as they are under the lock."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gitstore.authorship import UnderReview
from gitstore.drafts import DraftState
from gitstore.errors import ApprovalRequired
from gitstore.layout import CommitId
from gitstore.messages import APPROVED_BY, OVERRIDE, signature
from gitstore.repository import Author


def says_why(reason: str) -> bool:
    """Tell whether the reason of an override is one: words, not blanks or marks alone."""
    return any(map(str.isalnum, reason))


class Verdict(NamedTuple):
    """What a reviewer thinks last of one head of a draft.

    `independent` is false of one who had a hand in it otherwise than by a commit, such as by asking for the review;
    `lapsed` is true of one by whom nothing counts any more, for they may not review now.
    """

    head: CommitId
    reviewer: Author
    approves: bool
    independent: bool = True
    lapsed: bool = False


Verdicts = Callable[[UnderReview], Sequence[Verdict]]
"""Gives the latest verdict of each reviewer of a draft, as it is when asked: the repository's lock is held then."""


def no_verdicts(_draft: UnderReview) -> Sequence[Verdict]:
    """Nobody has said anything."""
    return ()


@dataclass(frozen=True, slots=True)
class Consent:
    """What lets a draft through to release; asked anew each time, for people go on judging while a publish works."""

    state: DraftState
    draft: UnderReview
    verdicts: Verdicts
    override: str

    def trailers(self) -> dict[str, str | tuple[str, ...]]:
        """Who approved it, or why nobody had to, as the commit says it; raises ApprovalRequired."""
        approved = approvers(self.state, self.draft, self.verdicts(self.draft), overridden=bool(self.override))
        return {APPROVED_BY: tuple(map(signature, approved)), OVERRIDE: self.override}


def approvers(
    state: DraftState, draft: UnderReview, verdicts: Sequence[Verdict], *, overridden: bool
) -> tuple[Author, ...]:
    """Who approved what is published, for its commit.

    Raises ApprovalRequired where release wants an approval of just this head, and neither a person who is not among
    its authors has given one that stands, nor is it overridden.
    """
    of_head = [verdict for verdict in verdicts if verdict.head == state.head]
    counted = [verdict for verdict in of_head if not verdict.lapsed]
    if draft.is_required:
        counted = [verdict for verdict in counted if _is_anothers(draft, verdict)]
    approvals = [verdict for verdict in counted if verdict.approves]
    if draft.is_required and not overridden:
        _must_not_be_rejected(state, [verdict for verdict in counted if not verdict.approves])
        if not approvals:
            raise ApprovalRequired(_wanting(state, [each for each in of_head if each.lapsed and each.approves]))
    return tuple(verdict.reviewer for verdict in approvals)


def _is_anothers(draft: UnderReview, verdict: Verdict) -> bool:
    """Nobody judges what they wrote themselves."""
    return verdict.independent and verdict.reviewer.email not in {author.email for author in draft.authors}


def _must_not_be_rejected(state: DraftState, rejections: Sequence[Verdict]) -> None:
    if rejections:
        raise ApprovalRequired(
            f"{_name(state)} was rejected by {_names(rejections)}. Change what they ask for, or have them approve it "
            "after all."
        )


def _wanting(state: DraftState, lapsed: Sequence[Verdict]) -> str:
    """What is missing, and why an approval that somebody may remember is none."""
    gone = f" What {_names(lapsed)} approved does not count any more, for they may not review it now." if lapsed else ""
    return (
        f"{_name(state)} needs the approval of somebody who did not write it, of just the state that it is in now "
        f"({state.head}).{gone} Have it reviewed, or publish with an override that says why."
    )


def _name(state: DraftState) -> str:
    return f"The draft {state.name.draft} of {state.name.project}"


def _names(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(verdict.reviewer.name for verdict in verdicts)
