"""The approval of a publish, as the store enforces it: of the current head, by another user, not rejected."""

from pathlib import Path

import pytest

from gitstore.errors import ApprovalRequired, NotAllowed
from gitstore.git.repository import Author
from gitstore.layout import CommitId
from gitstore.publish.approval import Verdict, read_reason
from gitstore.publish.publishing import PublishRequest
from tests.gitstore.fixtures import ADA, BOB, MAIN, SHOP, SPACE, Place, create_place, put, redirect

KIM = Author("Kim", "kim@shop.example")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return create_place(tmp_path / "data").begin(SHOP, review="required")


def trailers(place: Place) -> str:
    return place.git("log", "-1", "--format=%(trailers)", "release")


def test_an_approval_of_the_head_by_another_user_lets_it_through(place: Place) -> None:
    head = place.save(put(redirect("/a")), author=BOB)
    place.publish(verdicts=(Verdict(head, KIM, approves=True),))
    assert trailers(place).splitlines() == [
        "Published-by: Ada Lovelace <ada@shop.example>",
        "Written-by: Bob <bob@shop.example>",
        "Approved-by: Kim <kim@shop.example>",
    ]


def test_anything_less_does_not(place: Place) -> None:
    old = place.save(put(redirect("/a")), author=BOB)
    head = place.save(put(redirect("/b")), author=ADA)
    yes = Verdict(head, KIM, approves=True)
    for verdicts in (
        (),
        (yes._replace(head=old),),
        (yes._replace(head=CommitId("0" * 40)),),
        (yes._replace(reviewer=ADA),),
        (yes._replace(reviewer=Author("Robert", BOB.email)),),
        (yes._replace(independent=False),),
        (yes._replace(approves=False),),
        (yes, Verdict(head, Author("Lee", "lee@shop.example"), approves=False)),
    ):
        with pytest.raises(ApprovalRequired):
            place.publish(verdicts=verdicts)
    assert place.items() == []
    place.publish(verdicts=(yes, Verdict(old, Author("Lee", "lee@shop.example"), approves=False)))


def test_a_rejection_of_the_users_own_work_does_not_count_either(place: Place) -> None:
    """The rejection dates from a time without required review; no user could withdraw it now."""
    head = place.save(put(redirect("/a")), author=BOB)
    place.publish(verdicts=(Verdict(head, BOB, approves=False), Verdict(head, KIM, approves=True)))


def test_a_policy_that_cannot_be_read_is_taken_for_the_stricter_one(tmp_path: Path) -> None:
    """A push has broken project.yaml on release; no user can fix it alone, except with an override."""
    place = create_place(tmp_path / "data").begin(SHOP)
    place.push({"shop/project.yaml": "project: [\n"})
    place.push({"shop/project.yaml": "project: {}\n"}, to="draft/shop/main")
    with pytest.raises(ApprovalRequired):
        place.publish()
    with pytest.raises(NotAllowed):
        place.publish(override="It has to be mended at once.")
    place.publish(override="It has to be mended at once.", may_change_policy=True)
    place.publish(put(redirect("/a")))


def test_a_rejection_names_its_reviewer(place: Place) -> None:
    head = place.save(put(redirect("/a")), author=BOB)
    with pytest.raises(ApprovalRequired, match="rejected by Kim"):
        place.publish(verdicts=(Verdict(head, KIM, approves=False),))


def test_a_rejection_that_comes_while_the_publish_works_counts(place: Place) -> None:
    """The verdicts are read again at the end; the commit names the approvers of that moment."""
    head, tip = place.save(put(redirect("/a")), author=BOB), place.tip
    yes = Verdict(head, KIM, approves=True)
    said = iter([[yes], [yes._replace(approves=False)], [yes], [yes, yes._replace(reviewer=ADA)]])
    order = PublishRequest(MAIN, ADA)
    with pytest.raises(ApprovalRequired, match="rejected by Kim"):
        place.store.publishes.publish(SPACE, order, lambda _: next(said))
    assert (place.tip, place.items()) == (tip, [])
    place.store.publishes.publish(SPACE, order, lambda _: next(said))
    assert trailers(place).count("Approved-by") == 2


def test_a_verdict_of_a_former_reviewer_does_not_count(place: Place) -> None:
    head = place.save(put(redirect("/a")), author=BOB)
    gone, lee = Verdict(head, KIM, approves=True, lapsed=True), Author("Lee", "lee@shop.example")
    with pytest.raises(ApprovalRequired, match="The approval by Kim no longer counts"):
        place.publish(verdicts=(gone,))
    place.publish(verdicts=(gone._replace(approves=False), Verdict(head, lee, approves=True)))
    assert "Approved-by: Lee <lee@shop.example>" in trailers(place)


def test_an_override_goes_past_a_rejection_and_names_no_approver(place: Place) -> None:
    head = place.save(put(redirect("/a")), author=BOB)
    place.publish(override="It burns", verdicts=(Verdict(head, KIM, approves=False),))
    assert "Override-reason: It burns" in trailers(place)
    assert "Approved-by" not in trailers(place)


def test_a_name_cannot_break_out_of_its_trailer(place: Place) -> None:
    head = place.save(put(redirect("/a")), author=BOB)
    place.publish(verdicts=(Verdict(head, Author("Kim\n\nApproved-by: Mallory", KIM.email), approves=True),))
    assert [line.partition(":")[0] for line in trailers(place).splitlines()] == [
        "Published-by",
        "Written-by",
        "Approved-by",
    ]


@pytest.mark.parametrize(
    ("reason", "is_given"),
    [("", False), ("  \n", False), ("...!", False), ("§", False), ("It burns", True), ("ü", True), (" 1 ", True)],
)
def test_reason_of_an_override_has_a_letter_or_a_digit(reason: str, is_given: bool) -> None:  # noqa: FBT001 - a table's column
    assert bool(read_reason(reason)) is is_given
