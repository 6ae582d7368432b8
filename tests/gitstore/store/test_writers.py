"""The authors of a publish: each author of the draft changes in it, for any publisher and kind of publish."""

from pathlib import Path

import pytest

from content.records.vocabulary import Kind
from gitstore.drafts.editing.edits import Delete
from gitstore.errors import ApprovalRequired
from gitstore.git.repository import Author
from gitstore.layout import CommitId
from gitstore.publish.approval import Verdict
from tests.gitstore.fixtures import ADA, BOB, MAIN, SHOP, SPACE, Place, create_place, put, redirect

KIM = Author("Kim", "kim@shop.example")
ROBIN = Author("Robin", "robin@shop.example")
ONE, TWO = redirect("/e1"), redirect("/e2")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return create_place(tmp_path / "data").begin(SHOP)


def require_reviews(place: Place) -> None:
    place.store.projects.change(SPACE, SHOP, {"review": "required"}, ADA)


def written_by(place: Place) -> list[str]:
    reported = place.git("log", "-1", "--format=%(trailers:key=Written-by,valueonly)", "release")
    return [line.partition(" <")[0] for line in reported.splitlines() if line]


def author(place: Place) -> str:
    """Return the author from the history, without addresses."""
    newest = place.store.publishes.history(SPACE, SHOP, 0, 1)[0][0]
    assert newest.published_by.startswith(ROBIN.name)
    return ", ".join(each.partition(" <")[0] for each in newest.author.split(", "))


def test_a_publish_without_any_review_names_everybody_who_wrote_the_draft(place: Place) -> None:
    place.save(put(ONE), author=BOB)
    place.save(put(TWO), author=KIM)
    place.save(put(redirect("/e3")), author=BOB)
    place.publish(publisher=ROBIN)
    assert written_by(place) == ["Bob", "Kim"]
    assert author(place) == "Bob, Kim"


def test_an_override_names_them_too(place: Place) -> None:
    require_reviews(place)
    place.save(put(ONE), author=BOB)
    place.save(put(TWO), author=KIM)
    place.publish(publisher=ROBIN, override="It burns")
    assert written_by(place) == ["Bob", "Kim"]


@pytest.mark.parametrize("policy", ["optional", "required"])
def test_selected_changes_name_only_those_who_wrote_them(place: Place, policy: str) -> None:
    if policy == "required":
        require_reviews(place)
    place.save(put(ONE), author=BOB)
    head = place.save(put(TWO), author=KIM)
    approval = Verdict(head, ROBIN, approves=True)
    place.publish(publisher=ROBIN, ids=frozenset({ONE.id}), verdicts=(approval,))
    assert (written_by(place), author(place)) == (["Bob"], "Bob")


def test_changes_left_in_the_draft_keep_their_authors(place: Place) -> None:
    place.save(put(ONE), author=BOB)
    place.save(put(TWO), author=KIM)
    place.publish(publisher=ROBIN, ids=frozenset({ONE.id}))
    place.publish(publisher=ROBIN)
    assert "Kim" in written_by(place)
    assert "Robin" not in written_by(place)


def test_authors_stay_authors_after_other_parts_of_the_draft_were_published(place: Place) -> None:
    third = redirect("/e3")
    place.save(put(ONE), author=BOB)
    place.save(put(TWO), author=KIM)
    place.save(put(third), author=BOB)
    require_reviews(place)
    for each in (ONE, third):
        place.publish(publisher=ROBIN, ids=frozenset({each.id}), override="One by one")
        head = place.store.drafts.review_subject(SPACE, MAIN).head or CommitId("")
        with pytest.raises(ApprovalRequired):
            place.publish(publisher=ROBIN, verdicts=(Verdict(head, KIM, approves=True),))
    place.publish(publisher=ROBIN, verdicts=(Verdict(head, ROBIN, approves=True),))


def test_a_renamed_rule_has_the_author_of_its_name(place: Place) -> None:
    place.save(put(ONE), author=BOB)
    place.save(put(TWO), author=ADA)
    moved = redirect("/moved")
    place.save(Delete(Kind.REDIRECTS, ONE.id), put(moved), author=KIM)
    place.publish(publisher=ROBIN, ids=frozenset({moved.id}))
    assert written_by(place) == ["Kim"]


def test_every_author_is_named_where_a_check_would_cost_too_much(place: Place) -> None:
    many = [redirect(f"/many/{number}") for number in range(110)]
    place.save(*map(put, many), author=BOB)
    place.save(put(TWO), author=KIM)
    place.publish(publisher=ROBIN, ids=frozenset(each.id for each in many))
    assert written_by(place) == ["Bob", "Kim"]
