"""The authors of a draft: every user who added something to it, but no user who only merged published changes."""

from pathlib import Path

import pytest

from gitstore.drafts.drafts import DraftName
from gitstore.publish.authorship import ReviewSubject
from gitstore.publish.publishing import PublishRequest
from tests.gitstore.fixtures import ADA, BOB, MAIN, SHOP, SPACE, Place, create_place, git, put, redirect, yaml

GIT = "git@shop.example"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return create_place(tmp_path / "data").begin(SHOP)


def under_review(place: Place) -> ReviewSubject:
    return place.store.drafts.review_subject(SPACE, MAIN)


def authors(place: Place) -> list[str]:
    return [author.email for author in under_review(place).authors]


def merge(place: Place, *options: str) -> Path:
    """Return a clone of the draft with release merged into it by plain git; the options may prevent the commit."""
    clone = place.clone()
    git(clone, "checkout", "--quiet", "-B", "work", "origin/draft/shop/main")
    git(clone, "merge", "--quiet", "--no-edit", *options, "origin/release")
    return clone


def test_without_a_draft_there_is_nothing_to_review(place: Place) -> None:
    assert under_review(place) == ReviewSubject(None, frozenset(), (), is_required=False, written=frozenset())


def test_each_author_is_named_once_and_the_first_comes_first(place: Place) -> None:
    heads = [
        place.save(put(redirect(f"/{number}")), author=author) for number, author in enumerate((BOB, ADA, BOB, ADA))
    ]
    draft = under_review(place)
    assert draft.authors == (BOB, ADA)
    assert (draft.head, draft.commits) == (heads[-1], frozenset(heads))


def test_published_changes_have_no_author_in_the_draft(place: Place) -> None:
    place.publish(put(redirect("/a")))
    place.save(put(redirect("/b")), author=BOB)
    assert authors(place) == [BOB.email]


def test_the_policy_is_that_of_release(place: Place) -> None:
    place.save(put(redirect("/a")))
    assert not under_review(place).is_required
    place.store.projects.change(SPACE, SHOP, {"review": "required"}, ADA)
    assert under_review(place).is_required


def test_a_merge_of_a_publish_does_not_make_an_author(place: Place) -> None:
    wanted = redirect("/wanted")
    place.save(put(wanted), put(redirect("/left")))
    place.store.publishes.publish(SPACE, PublishRequest(MAIN, BOB, ids=frozenset({wanted.id})))
    assert authors(place) == [ADA.email]


def published_beside(place: Place) -> None:
    """Create a draft by Bob, and publish another change by Ada in the meantime."""
    place.publish(put(redirect("/base")))
    place.save(put(redirect("/bobs")), author=BOB)
    other = DraftName(SHOP, "other")
    place.save(put(redirect("/adas"), file="redirects/more.yaml"), draft=other)
    place.store.publishes.publish(SPACE, PublishRequest(other, ADA))


def test_a_clean_merge_by_plain_git_does_not_make_an_author(place: Place) -> None:
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
