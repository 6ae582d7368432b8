"""Projects: each making, change and removal is one publish with a number."""

import pytest

from gitstore.errors import AlreadyExists, BadRequest, NotAllowed, NotFound
from gitstore.project_file import ProjectFile
from tests.gitstore.places import ADA, BOB, SHOP, SPACE, Place, put, redirect


def test_new_project_is_published_with_empty_lists(place: Place) -> None:
    """Ready for agents at once, as one commit."""
    assert place.state() == (place.tip, 1)
    assert place.items() == []
    assert place.git("ls-tree", "-r", "--name-only", "release", "shop/").split() == [
        "shop/pages.yaml",
        "shop/project.yaml",
        "shop/redirects.yaml",
    ]
    assert place.store.lint(SPACE, SHOP) == []


@pytest.mark.parametrize(
    ("settings", "told"), [({"review": "required"}, "review: required"), ({"lint": "strict"}, "lint: strict")]
)
def test_a_project_with_a_policy_is_removed_only_by_who_may_change_that(
    empty: Place, settings: dict[str, str], told: str
) -> None:
    """Made anew in its place it would have none."""
    place = empty.begin(SHOP, **settings)
    tip = place.tip
    with pytest.raises(NotAllowed, match=told):
        place.store.delete_project(SPACE, SHOP, ADA)
    assert place.tip == tip
    place.store.delete_project(SPACE, SHOP, ADA, may_change_policy=True)
    place.begin(SHOP)
    assert place.state()[1] == 3


def test_a_policy_that_cannot_be_read_keeps_a_project_too(place: Place) -> None:
    place.push({"shop/project.yaml": "project: [\n"})
    with pytest.raises(NotAllowed, match="review: required"):
        place.store.delete_project(SPACE, SHOP, ADA)


@pytest.mark.parametrize("name", ["shop", "SHOP", "Shop"])
def test_names_are_unique_without_regard_to_case(place: Place, name: str) -> None:
    """A clone on any file system holds them all."""
    with pytest.raises(AlreadyExists):
        place.store.create_project(SPACE, name, ProjectFile(), ADA)


@pytest.mark.parametrize("name", ["", "..", ".github", "a/b", "a" * 51, "a\n"])
def test_what_is_no_name_is_refused(place: Place, name: str) -> None:
    """And nothing is published."""
    tip = place.tip
    with pytest.raises(BadRequest):
        place.store.create_project(SPACE, name, ProjectFile(), ADA)
    assert place.tip == tip


def test_settings_are_published_and_served(place: Place) -> None:
    """Only what was named changes; an open draft goes on from there."""
    place.save(put(redirect("/a")))
    place.store.change_project(SPACE, SHOP, {"title": "The: shop", "description": "a\nb"}, BOB)
    place.store.change_project(SPACE, SHOP, {"review": "required"}, BOB)
    settings = place.store.project(SPACE, SHOP).release.settings
    assert settings == ProjectFile("The: shop", "a\nb", "required")
    place.publish(override="urgent")
    assert place.store.project(SPACE, SHOP).release.settings == settings
    assert place.targets() == {"/a": "/new"}


def test_projects_that_are_not_there_are_not_found(place: Place) -> None:
    """Whatever is asked of them."""
    for ask in (
        lambda: place.store.project(SPACE, "none"),
        lambda: place.store.project("none", SHOP),
        lambda: place.store.change_project(SPACE, "none", {"title": "x"}, ADA),
        lambda: place.store.delete_project(SPACE, "none", ADA),
        lambda: place.store.history(SPACE, "none", 0, 1),
        lambda: place.store.history("none", SHOP, 0, 1),
    ):
        with pytest.raises(NotFound):
            ask()


def test_a_review_that_is_asked_for_until_settings_are_mended_outlives_the_mending(place: Place) -> None:
    """A new title writes a project.yaml that can be read; it does not end the review that the old one may have had."""
    place.push({"shop/project.yaml": "project:\n  title: [\n  policy: {review: required}\n"})
    place.store.change_project(SPACE, SHOP, {"title": "Mended"}, ADA)
    settings = place.store.project(SPACE, SHOP).release.settings
    assert (settings.title, settings.review) == ("Mended", "required")
    place.store.change_project(SPACE, SHOP, {"review": "optional"}, ADA)
    assert place.store.project(SPACE, SHOP).release.settings.review == "optional"
