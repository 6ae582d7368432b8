"""Where the review of a draft stands: worked out from what was said of its commits, and never stored.

A verdict is of one head, and counts only while that is the draft's, and while whoever gave it may still review. Of each
reviewer the latest one counts.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from api.state.reviews import Action, Person, Remark
from gitstore.authorship import UnderReview

_VERDICTS = (Action.APPROVE, Action.REJECT)


Makers = Mapping[str, Collection[str]]
"""The addresses of the users who know an API token's value, by its own."""


class Standing(StrEnum):
    """Where a review stands; outdated is one of whose verdicts none counts now, such as those of an earlier head."""

    NONE = "none"
    REQUESTED = "requested"
    APPROVED = "approved"
    REJECTED = "rejected"
    OUTDATED = "outdated"


@dataclass(frozen=True, slots=True)
class Opinion:
    """The latest verdict of a reviewer on the draft's head.

    It `counts` unless it is of their own change, and they may not, or has `lapsed`: they may not review any more.
    """

    remark: Remark
    independent: bool
    lapsed: bool
    counts: bool

    @property
    def approves(self) -> bool:
        """Tell an approval from a rejection."""
        return self.remark.action is Action.APPROVE


@dataclass(frozen=True, slots=True)
class Review:
    """The review of a draft as it is now."""

    required: bool
    standing: Standing
    requested_by: Person | None
    opinions: Sequence[Opinion]
    comments: int


def review_of(draft: UnderReview, remarks: Sequence[Remark], makers: Makers, lapsed: Collection[str] = ()) -> Review:
    """Where the review stands after these remarks on the draft's commits, in the order they were said.

    `makers` gives, by the address of an API token, those of the users who made or rotated it; `lapsed` are the addresses of the
    reviewers who may not review any more.
    """
    involved = involved_in(draft, remarks, makers)
    latest = latest_verdicts(draft, remarks)
    opinions = [_opinion(draft, each, involved, makers, lapsed=each.person.email in lapsed) for each in latest]
    requests = [remark for remark in remarks if remark.action is Action.REQUEST]
    return Review(
        draft.is_required,
        _standing(opinions, remarks),
        requests[-1].person if requests else None,
        sorted(opinions, key=lambda opinion: opinion.remark.id),
        sum(remark.action is Action.COMMENT for remark in remarks),
    )


def latest_verdicts(draft: UnderReview, remarks: Sequence[Remark]) -> list[Remark]:
    """The latest verdict of each reviewer on the draft's head."""
    verdicts = (each for each in remarks if each.head == draft.head and each.action in _VERDICTS)
    return list({each.person.email: each for each in verdicts}.values())


def involved_in(draft: UnderReview, remarks: Sequence[Remark], makers: Makers) -> frozenset[str]:
    """The addresses of all who wrote the draft or asked for its review, and of those who stand behind their tokens."""
    authors = {author.email for author in draft.authors}
    requesters = {remark.person.email for remark in remarks if remark.action is Action.REQUEST}
    return frozenset(address for one in authors | requesters for address in behind(one, makers))


def behind(address: str, makers: Makers) -> set[str]:
    """An address, and where it is an API token's, those of its makers."""
    return {address, *makers.get(address, ())}


def _opinion(draft: UnderReview, remark: Remark, involved: frozenset[str], makers: Makers, *, lapsed: bool) -> Opinion:
    independent = involved.isdisjoint(behind(remark.person.email, makers))
    return Opinion(remark, independent, lapsed, not lapsed and (independent or not draft.is_required))


def _standing(opinions: Sequence[Opinion], remarks: Sequence[Remark]) -> Standing:
    counted = [opinion.approves for opinion in opinions if opinion.counts]
    if counted:
        return Standing.APPROVED if all(counted) else Standing.REJECTED
    steps = [remark.action for remark in remarks if remark.action is not Action.COMMENT]
    if not steps:
        return Standing.NONE
    return Standing.REQUESTED if steps[-1] is Action.REQUEST else Standing.OUTDATED
