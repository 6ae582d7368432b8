"""Where a review stands: worked out from what was said, for every order in which it can have been said."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from api.review import Review, Standing, review_of
from api.state.reviews import Action, DraftKey, Person, Remark
from gitstore.authorship import UnderReview
from gitstore.layout import CommitId
from gitstore.repository import Author

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


def draft_of(*authors: Person, required: bool = True) -> UnderReview:
    written = tuple(Author(person.name, person.email) for person in authors)
    return UnderReview(HEAD, frozenset({OLD, HEAD}), written, required)


def review(draft: UnderReview, *steps: tuple[str, Action, Person]) -> Review:
    remarks = [Remark(NOW, MAIN, head, action, who, id=number) for number, (head, action, who) in enumerate(steps, 1)]
    return review_of(draft, remarks, MAKERS)


@given(steps=said, authors=st.sets(st.sampled_from(PEOPLE), max_size=2), required=st.booleans())
def test_approved_is_what_everybody_elses_latest_word_on_this_head_says(
    steps: list[tuple[str, Action, Person]], authors: set[Person], *, required: bool
) -> None:
    found = review(draft_of(*authors, required=required), *steps)
    own = {person.email for person in authors} | {who.email for _, action, who in steps if action is Action.REQUEST}
    own |= {maker for email in own & set(MAKERS) for maker in MAKERS[email]}
    latest = {who: action for head, action, who in steps if head == HEAD and action in {Action.APPROVE, Action.REJECT}}
    words = {
        action for who, action in latest.items() if not required or not {who.email, *MAKERS.get(who.email, ())} & own
    }
    assert (found.standing is Standing.APPROVED) == (words == {Action.APPROVE})
    assert (found.standing is Standing.REJECTED) == (Action.REJECT in words)
    assert {opinion.remark.person: opinion.remark.action for opinion in found.opinions} == latest
    assert found.comments == sum(action is Action.COMMENT for _, action, _ in steps)


@given(said)
def test_comments_and_what_was_said_of_earlier_heads_never_approve_or_reject(
    steps: list[tuple[str, Action, Person]],
) -> None:
    """Taken out, but for who had asked, the verdict is the same."""
    kept = [step for step in steps if step[1] is not Action.COMMENT and (step[0] == HEAD or step[1] is Action.REQUEST)]
    decided = {Standing.APPROVED, Standing.REJECTED}
    with_all, without = review(draft_of(), *steps).standing, review(draft_of(), *kept).standing
    assert {with_all} & decided == {without} & decided


def test_the_standing_follows_a_draft_through_its_life() -> None:
    author, kim, lee, _ = PEOPLE
    steps: list[tuple[str, Action, Person]] = []
    for step, standing in (
        ((OLD, Action.COMMENT, kim), Standing.NONE),
        ((OLD, Action.REQUEST, author), Standing.REQUESTED),
        ((OLD, Action.APPROVE, kim), Standing.OUTDATED),
        ((HEAD, Action.REQUEST, author), Standing.REQUESTED),
        ((HEAD, Action.APPROVE, kim), Standing.APPROVED),
        ((HEAD, Action.REJECT, lee), Standing.REJECTED),
        ((HEAD, Action.APPROVE, kim), Standing.REJECTED),
        ((HEAD, Action.APPROVE, lee), Standing.APPROVED),
    ):
        steps.append(step)
        assert review(draft_of(author), *steps).standing is standing


def test_a_token_speaks_for_its_maker() -> None:
    """Neither judges the other's work; a token of the operator's stands for itself."""
    author, kim, *_ = PEOPLE
    for draft, who, counts in (
        (draft_of(TOKEN), author, False),
        (draft_of(author), TOKEN, False),
        (draft_of(kim), TOKEN, True),
        (draft_of(TOKEN), kim, True),
    ):
        (opinion,) = review(draft, (HEAD, Action.APPROVE, who)).opinions
        assert opinion.counts is counts
