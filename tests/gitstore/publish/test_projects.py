"""Projects: each creation, change and removal is one publish with a number."""

import pytest

from gitstore.errors import AlreadyExists, BadRequest, NotAllowed, NotFound
from gitstore.yamlfiles.project_file import ProjectFile
from tests.gitstore.fixtures import ADA, BOB, SHOP, SPACE, Place, put, redirect


def test_new_project_is_published_with_empty_lists(place: Place) -> None:
    """The project is ready for agents at once, as one commit."""
    assert place.state() == (place.tip, 1)
    assert place.items() == []
    assert place.git("ls-tree", "-r", "--name-only", "release", "shop/").split() == [
        "shop/pages.yaml",
        "shop/project.yaml",
        "shop/redirects.yaml",
    ]
    assert place.store.revisions.lint(SPACE, SHOP) == []


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"review": "required"}, "review: required"),
        ({"lint": "strict"}, "lint: strict"),
        ({"signatures": "required"}, "signatures: required"),
    ],
)
def test_a_project_with_a_policy_is_removed_only_with_permission_to_change_it(
    empty: Place, settings: dict[str, str], expected: str
) -> None:
    """A project created again under the same name would have no policy."""
    place = empty.begin(SHOP, **settings)
    tip = place.tip
    with pytest.raises(NotAllowed, match=expected):
        place.store.projects.delete(SPACE, SHOP, ADA)
    assert place.tip == tip
    place.store.projects.delete(SPACE, SHOP, ADA, may_change_policy=True)
    place.begin(SHOP)
    assert place.state()[1] == 3


def test_a_policy_that_cannot_be_read_keeps_a_project_too(place: Place) -> None:
    place.push({"shop/project.yaml": "project: [\n"})
    with pytest.raises(NotAllowed, match="review: required"):
        place.store.projects.delete(SPACE, SHOP, ADA)


@pytest.mark.parametrize("name", ["shop", "SHOP", "Shop"])
def test_names_are_unique_without_regard_to_case(place: Place, name: str) -> None:
    """A clone on any file system holds them all."""
    with pytest.raises(AlreadyExists):
        place.store.projects.create(SPACE, name, ProjectFile(), ADA)


@pytest.mark.parametrize("name", ["", "..", ".github", "a/b", "a" * 51, "a\n"])
def test_an_invalid_name_is_refused(place: Place, name: str) -> None:
    """Nothing is published."""
    tip = place.tip
    with pytest.raises(BadRequest):
        place.store.projects.create(SPACE, name, ProjectFile(), ADA)
    assert place.tip == tip


def test_settings_are_published_and_served(place: Place) -> None:
    """Only the named settings change; an open draft continues from there."""
    place.save(put(redirect("/a")))
    place.store.projects.change(SPACE, SHOP, {"title": "The: shop", "description": "a\nb"}, BOB)
    place.store.projects.change(SPACE, SHOP, {"review": "required"}, BOB)
    settings = place.store.releases.project(SPACE, SHOP).release.settings
    assert settings == ProjectFile("The: shop", "a\nb", "required")
    place.publish(override="urgent")
    assert place.store.releases.project(SPACE, SHOP).release.settings == settings
    assert place.targets() == {"/a": "/new"}


def test_projects_that_are_not_there_are_not_found(place: Place) -> None:
    """Every operation on them is NotFound."""
    for ask in (
        lambda: place.store.releases.project(SPACE, "none"),
        lambda: place.store.releases.project("none", SHOP),
        lambda: place.store.projects.change(SPACE, "none", {"title": "x"}, ADA),
        lambda: place.store.projects.delete(SPACE, "none", ADA),
        lambda: place.store.publishes.history(SPACE, "none", 0, 1),
        lambda: place.store.publishes.history("none", SHOP, 0, 1),
    ):
        with pytest.raises(NotFound):
            ask()


def test_a_review_required_by_broken_settings_is_still_required_once_they_are_fixed(place: Place) -> None:
    """A new title writes a readable project.yaml; it does not end the review that the old one may have required."""
    place.push({"shop/project.yaml": "project:\n  title: [\n  policy: {review: required}\n"})
    place.store.projects.change(SPACE, SHOP, {"title": "Mended"}, ADA)
    settings = place.store.releases.project(SPACE, SHOP).release.settings
    assert (settings.title, settings.review) == ("Mended", "required")
    place.store.projects.change(SPACE, SHOP, {"review": "optional"}, ADA)
    assert place.store.releases.project(SPACE, SHOP).release.settings.review == "optional"


def test_project_without_a_settings_file_gets_one(place: Place) -> None:
    """Plain Git can remove the file; its title and policy can be set again."""
    place.push({"shop/project.yaml": None})
    place.store.projects.change(SPACE, SHOP, {"title": "Shop"}, ADA)
    assert place.store.releases.project(SPACE, SHOP).release.settings.title == "Shop"
    assert "title: Shop" in place.file("shop/project.yaml")


def test_removed_project_is_absent_and_not_broken(place: Place) -> None:
    """Guard: an agent of a project that was removed gets 404, and no alarm is raised."""
    place.begin("docs")
    place.store.projects.delete(SPACE, SHOP, ADA)
    for each in (place, place.fresh()):
        with pytest.raises(NotFound):
            each.store.releases.project(SPACE, SHOP)
        assert each.store.releases.failures() == []
        assert each.state("docs") is not None
