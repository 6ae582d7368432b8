"""Who wrote a draft: everybody who put something into it, and nobody who only took in what others had published."""

from pathlib import Path

import pytest

from gitstore.authorship import UnderReview
from gitstore.drafts import DraftName
from gitstore.publishing import PublishOrder
from tests.gitstore.places import ADA, BOB, MAIN, SHOP, SPACE, Place, found, git, put, redirect, yaml

GIT = "git@shop.example"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return found(tmp_path / "data").begin(SHOP)


def under_review(place: Place) -> UnderReview:
    return place.store.under_review(SPACE, MAIN)


def authors(place: Place) -> list[str]:
    return [author.email for author in under_review(place).authors]


def merge(place: Place, *options: str) -> Path:
    """The draft in a clone, with release merged into it by plain git; not committed where that says so."""
    clone = place.clone()
    git(clone, "checkout", "--quiet", "-B", "work", "origin/draft/shop/main")
    git(clone, "merge", "--quiet", "--no-edit", *options, "origin/release")
    return clone


def test_without_a_draft_there_is_nothing_to_review(place: Place) -> None:
    assert under_review(place) == UnderReview(None, frozenset(), (), is_required=False)


def test_each_author_is_named_once_and_the_first_comes_first(place: Place) -> None:
    heads = [
        place.save(put(redirect(f"/{number}")), author=author) for number, author in enumerate((BOB, ADA, BOB, ADA))
    ]
    draft = under_review(place)
    assert draft.authors == (BOB, ADA)
    assert (draft.head, draft.commits) == (heads[-1], frozenset(heads))


def test_what_is_published_is_nobodys_any_more(place: Place) -> None:
    place.publish(put(redirect("/a")))
    place.save(put(redirect("/b")), author=BOB)
    assert authors(place) == [BOB.email]


def test_the_policy_is_that_of_release(place: Place) -> None:
    place.save(put(redirect("/a")))
    assert not under_review(place).is_required
    place.store.change_project(SPACE, SHOP, {"review": "required"}, ADA)
    assert under_review(place).is_required


def test_whoever_takes_in_a_publish_wrote_nothing(place: Place) -> None:
    wanted = redirect("/wanted")
    place.save(put(wanted), put(redirect("/left")))
    place.store.publish(SPACE, PublishOrder(MAIN, BOB, ids=frozenset({wanted.id})))
    assert authors(place) == [ADA.email]


def published_beside(place: Place) -> None:
    """A draft of Bob's, and a publish by Ada of something else meanwhile."""
    place.publish(put(redirect("/base")))
    place.save(put(redirect("/bobs")), author=BOB)
    other = DraftName(SHOP, "other")
    place.save(put(redirect("/adas"), file="redirects/more.yaml"), draft=other)
    place.store.publish(SPACE, PublishOrder(other, ADA))


def test_a_clean_merge_by_plain_git_makes_nobody_an_author(place: Place) -> None:
    published_beside(place)
    git(merge(place), "push", "--quiet", "origin", "HEAD:refs/heads/draft/shop/main")
    assert authors(place) == [BOB.email]


def test_a_merge_that_adds_something_has_an_author(place: Place) -> None:
    published_beside(place)
    clone = merge(place, "--no-commit", "--no-ff")
    (clone / "shop/redirects/more.yaml").write_text(yaml([("/adas", "https://evil.example/")]))
    git(clone, "commit", "--quiet", "--all", "--message", "Merge release")
    git(clone, "push", "--quiet", "origin", "HEAD:refs/heads/draft/shop/main")
    assert authors(place) == [BOB.email, GIT]


def test_a_merge_of_another_branch_brings_its_authors(place: Place) -> None:
    place.publish(put(redirect("/base")))
    place.save(put(redirect("/bobs")), author=BOB)
    place.save(put(redirect("/adas"), file="redirects/more.yaml"), draft=DraftName(SHOP, "other"))
    clone = place.clone()
    git(clone, "checkout", "--quiet", "-B", "work", "origin/draft/shop/main")
    git(clone, "merge", "--quiet", "--no-edit", "origin/draft/shop/other")
    git(clone, "push", "--quiet", "origin", "HEAD:refs/heads/draft/shop/main")
    assert set(authors(place)) == {BOB.email, ADA.email, GIT}
