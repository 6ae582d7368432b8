"""The status of a draft's review, computed from the remarks on its commits and never stored.

A verdict applies to one head, and counts only while that is the draft's head and its author may still review. The
latest verdict of each reviewer counts.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from api.db.namespaces.reviews import VERDICTS, Action, DraftKey, Person, Remark
from gitstore.publish.authorship import ReviewSubject

# The addresses of the users who know the value of an API token, by the address of the token.
TokenOwners = Mapping[str, Collection[str]]


class ReviewStatus(StrEnum):
    """The status of a review; outdated if none of its verdicts counts now, such as those on an earlier head."""

    NONE = "none"
    REQUESTED = "requested"
    APPROVED = "approved"
    REJECTED = "rejected"
    OUTDATED = "outdated"


@dataclass(frozen=True, slots=True)
class Opinion:
    """The latest verdict of a reviewer on the draft's head.

    It `counts` unless it has `lapsed`, since they may no longer review, or is of their own change in a draft that
    requires an approval.
    """

    remark: Remark
    independent: bool
    lapsed: bool
    counts: bool

    @property
    def approves(self) -> bool:
        """True for an approval, false for a rejection."""
        return self.remark.action is Action.APPROVE


@dataclass(frozen=True, slots=True)
class Review:
    """The current review of a draft; `request` is the last one, and `suggested` are the code owners who could give a verdict and have not.

    `caller_verdict` is `allowed`, or the error with which a verdict of the caller is refused; empty without a caller.
    `caller_involved` is true where the caller has a part in what is reviewed, whether or not that refuses their verdict.
    """

    required: bool
    status: ReviewStatus
    request: Remark | None
    opinions: Sequence[Opinion]
    comments: int
    suggested: Sequence[Person] = ()
    caller_verdict: str = ""
    caller_involved: bool = False


def select_thread(key: DraftKey, draft: ReviewSubject, remarks: Sequence[Remark]) -> list[Remark]:
    """Return the remarks of a draft's thread: those made on it, and the verdicts on its head under any name."""
    return [each for each in remarks if each.draft == key or (each.head == draft.head and each.action in VERDICTS)]


def summarize_review(
    draft: ReviewSubject,
    remarks: Sequence[Remark],
    involved: Collection[str],
    token_owners: TokenOwners,
    lapsed: Collection[str] = (),
) -> Review:
    """Compute the review from the remarks of the draft's thread, oldest first.

    `involved` has the addresses of `find_involved`. `token_owners` maps the address of an API token to those of the users
    who created or rotated it; `lapsed` has the addresses of the reviewers who may no longer review.
    """
    latest = latest_verdicts(draft, remarks)
    opinions = [_opinion(draft, each, involved, token_owners, lapsed=each.person.email in lapsed) for each in latest]
    requests = [remark for remark in remarks if remark.action is Action.REQUEST]
    return Review(
        draft.is_required,
        _status_of(opinions, remarks),
        requests[-1] if requests else None,
        sorted(opinions, key=lambda opinion: opinion.remark.id),
        sum(remark.action is Action.COMMENT for remark in remarks),
    )


def latest_verdicts(draft: ReviewSubject, remarks: Sequence[Remark]) -> list[Remark]:
    """Return the latest verdict of each reviewer on the draft's head."""
    return _latest_verdicts(each for each in remarks if each.head == draft.head)


def _latest_verdicts(remarks: Iterable[Remark]) -> list[Remark]:
    return list({each.person.email: each for each in remarks if each.action in VERDICTS}.values())


def outcome_of(remarks: Sequence[Remark]) -> ReviewStatus:
    """Return how the review of one commit ended, from the remarks on it, oldest first, also by people who may no longer review."""
    verdicts = [each.action for each in _latest_verdicts(remarks)]
    if verdicts:
        return ReviewStatus.REJECTED if Action.REJECT in verdicts else ReviewStatus.APPROVED
    is_requested = any(each.action is Action.REQUEST for each in remarks)
    return ReviewStatus.REQUESTED if is_requested else ReviewStatus.NONE


def outdated_verdicts(remarks: Sequence[Remark], head: str) -> list[Remark]:
    """Return the latest verdict of each reviewer on the commits before a head, oldest first, from the remarks on all."""
    found = _latest_verdicts(each for each in remarks if each.head != head)
    return sorted(found, key=lambda verdict: verdict.id)


def find_involved(
    draft: ReviewSubject, remarks: Sequence[Remark], pushers: Collection[str], token_owners: TokenOwners
) -> frozenset[str]:
    """Return the addresses of those who cannot approve a draft: they wrote or pushed it, or requested its review.

    `remarks` are all those on its commits. The owners of their API tokens are among them.
    """
    authors = {author.email for author in draft.authors}
    requesters = {remark.person.email for remark in remarks if remark.action is Action.REQUEST}
    people = authors.union(requesters, pushers)
    return frozenset(address for one in people for address in with_token_owners(one, token_owners))


def with_token_owners(address: str, token_owners: TokenOwners) -> set[str]:
    """Return an address, with those of its owners if it is an API token's."""
    return {address, *token_owners.get(address, ())}


def _opinion(
    draft: ReviewSubject, remark: Remark, involved: Collection[str], token_owners: TokenOwners, *, lapsed: bool
) -> Opinion:
    independent = with_token_owners(remark.person.email, token_owners).isdisjoint(involved)
    return Opinion(remark, independent, lapsed, not lapsed and (independent or not draft.is_required))


def _status_of(opinions: Sequence[Opinion], remarks: Sequence[Remark]) -> ReviewStatus:
    counted = [opinion.approves for opinion in opinions if opinion.counts]
    if counted:
        return ReviewStatus.APPROVED if all(counted) else ReviewStatus.REJECTED
    steps = [remark.action for remark in remarks if remark.action not in {Action.COMMENT, Action.PUSH}]
    if not steps:
        return ReviewStatus.NONE
    return ReviewStatus.REQUESTED if steps[-1] is Action.REQUEST else ReviewStatus.OUTDATED
