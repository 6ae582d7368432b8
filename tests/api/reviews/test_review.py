"""The status of a review: computed from the remarks, in every possible order."""

from collections.abc import Collection
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from api.db.namespaces.reviews import Action, DraftKey, Person, Remark
from api.reviews.review import Review, ReviewStatus, find_involved, summarize_review
from gitstore.git.repository import Author
from gitstore.layout import CommitId
from gitstore.publish.authorship import ReviewSubject

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
MAIN = DraftKey("acme", "shop", "main")
PEOPLE = [Person("user", number, f"user{number}", "", f"user-{number}@waypost.invalid") for number in range(4)]
TOKEN = Person("token", 9, "own", "", "token-9@waypost.invalid")
MAKERS = {TOKEN.email: [PEOPLE[0].email]}
OLD, HEAD = CommitId("a" * 40), CommitId("b" * 40)
said = st.lists(
    st.tuples(st.sampled_from([OLD, HEAD]), st.sampled_from(list(Action)), st.sampled_from([*PEOPLE, TOKEN])),
    max_size=12,
)


def draft_of(*authors: Person, required: bool = True) -> ReviewSubject:
    written = tuple(Author(person.name, person.email) for person in authors)
    commits = frozenset({OLD, HEAD})
    return ReviewSubject(HEAD, commits, written, required, commits)


def review(draft: ReviewSubject, *steps: tuple[str, Action, Person], pushers: Collection[str] = ()) -> Review:
    remarks = [Remark(NOW, MAIN, head, action, who, id=number) for number, (head, action, who) in enumerate(steps, 1)]
    return summarize_review(draft, remarks, find_involved(draft, remarks, pushers, MAKERS), MAKERS)


@given(
    steps=said,
    authors=st.sets(st.sampled_from(PEOPLE), max_size=2),
    pushers=st.sets(st.sampled_from([*PEOPLE, TOKEN]), max_size=2),
    required=st.booleans(),
)
def test_approval_follows_from_the_latest_verdicts_of_others_on_this_head(
    steps: list[tuple[str, Action, Person]], authors: set[Person], pushers: set[Person], *, required: bool
) -> None:
    found = review(draft_of(*authors, required=required), *steps, pushers={each.email for each in pushers})
    own = {person.email for person in authors | pushers} | {
        who.email for _, action, who in steps if action is Action.REQUEST
    }
    own |= {maker for email in own & set(MAKERS) for maker in MAKERS[email]}
    latest = {who: action for head, action, who in steps if head == HEAD and action in {Action.APPROVE, Action.REJECT}}
    words = {
        action for who, action in latest.items() if not required or not {who.email, *MAKERS.get(who.email, ())} & own
    }
    assert (found.status is ReviewStatus.APPROVED) == (words == {Action.APPROVE})
    assert (found.status is ReviewStatus.REJECTED) == (Action.REJECT in words)
    assert {opinion.remark.person: opinion.remark.action for opinion in found.opinions} == latest
    assert found.comments == sum(action is Action.COMMENT for _, action, _ in steps)


@given(said)
def test_comments_and_what_was_said_of_earlier_heads_never_approve_or_reject(
    steps: list[tuple[str, Action, Person]],
) -> None:
    """Without them, except for the requests, the verdict is the same."""
    kept = [step for step in steps if step[1] is not Action.COMMENT and (step[0] == HEAD or step[1] is Action.REQUEST)]
    decided = {ReviewStatus.APPROVED, ReviewStatus.REJECTED}
    with_all, without = review(draft_of(), *steps).status, review(draft_of(), *kept).status
    assert {with_all} & decided == {without} & decided


def test_the_status_follows_a_draft_through_its_life() -> None:
    author, kim, lee, _ = PEOPLE
    steps: list[tuple[str, Action, Person]] = []
    for step, status in (
        ((OLD, Action.COMMENT, kim), ReviewStatus.NONE),
        ((OLD, Action.REQUEST, author), ReviewStatus.REQUESTED),
        ((OLD, Action.APPROVE, kim), ReviewStatus.OUTDATED),
        ((HEAD, Action.REQUEST, author), ReviewStatus.REQUESTED),
        ((HEAD, Action.APPROVE, kim), ReviewStatus.APPROVED),
        ((HEAD, Action.REJECT, lee), ReviewStatus.REJECTED),
        ((HEAD, Action.APPROVE, kim), ReviewStatus.REJECTED),
        ((HEAD, Action.APPROVE, lee), ReviewStatus.APPROVED),
    ):
        steps.append(step)
        assert review(draft_of(author), *steps).status is status


def test_a_token_speaks_for_its_maker() -> None:
    """Neither approves the other's work; a token of the operator counts by itself."""
    author, kim, *_ = PEOPLE
    for draft, who, counts in (
        (draft_of(TOKEN), author, False),
        (draft_of(author), TOKEN, False),
        (draft_of(kim), TOKEN, True),
        (draft_of(TOKEN), kim, True),
    ):
        (opinion,) = review(draft, (HEAD, Action.APPROVE, who)).opinions
        assert opinion.counts is counts
