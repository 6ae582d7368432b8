"""Projects whose names differ in case alone, which only plain Git can create: the first is served, the other is not."""

import shutil
from collections.abc import Callable

import pytest

from gitstore.drafts.drafts import DraftName
from gitstore.errors import AlreadyExists, Broken, Invalid, NotFound
from gitstore.yamlfiles.project_file import ProjectFile
from tests.gitstore.fixtures import ADA, SHOP, SPACE, Place, put, redirect

TITLE = "project: {title: Shop}\n"


def files(project: str, source: str) -> dict[str, str | bytes | None]:
    rule = f"redirects:\n- {{type: BASIC, source: {source}, target: /x, status: 301}}\n"
    return {f"{project}/project.yaml": TITLE, f"{project}/redirects.yaml": rule}


def is_served(place: Place, project: str) -> bool:
    try:
        place.fresh().store.releases.project(SPACE, project)
    except (Broken, NotFound):
        return False
    return True


@pytest.mark.parametrize("twin", ["Shop", "SHOP"])
def test_a_pushed_name_collision_is_reported_and_the_first_project_is_still_served(place: Place, twin: str) -> None:
    """The order of the names does not matter, and the verdict is the same after all derived files are lost."""
    place.publish(put(redirect("/first")))
    place.push(files(twin, "/second"))
    place.publish(put(redirect("/more")))
    for _ in range(2):
        assert (is_served(place, SHOP), is_served(place, twin)) == (True, False)
        (failure,) = place.fresh().store.releases.failures()
        assert f"The project {SHOP} already exists" in failure
        assert twin in failure
        shutil.rmtree(place.paths.compiled)


def test_a_name_collision_cannot_be_published_but_it_can_be_removed(place: Place) -> None:
    place.push(files("Shop", "/second"))
    place.push(files("Shop", "/draft"), to="draft/Shop/main")
    works: list[Callable[[], object]] = [
        lambda: place.store.projects.change(SPACE, "Shop", {"title": "More"}, ADA),
        lambda: place.publish(draft=DraftName("Shop", "main")),
    ]
    for work in works:
        with pytest.raises(Invalid) as refused:
            work()
        assert [problem.code for problem in refused.value.problems] == ["duplicate_project"]
    place.store.projects.delete(SPACE, "Shop", ADA)
    assert place.fresh().store.releases.failures() == []
    with pytest.raises(AlreadyExists):
        place.store.projects.create(SPACE, "Shop", ProjectFile(), ADA)


def test_a_name_collision_ends_once_one_project_is_left(place: Place) -> None:
    place.push(files("Shop", "/second"))
    assert not is_served(place, "Shop")
    place.store.projects.delete(SPACE, SHOP, ADA)
    assert (is_served(place, SHOP), is_served(place, "Shop")) == (False, True)
    assert place.fresh().store.releases.failures() == []
    place.push(files(SHOP, "/again"))
    assert (is_served(place, SHOP), is_served(place, "Shop")) == (False, True), "now it is the older one"


def test_of_two_that_come_with_one_push_the_first_by_name_is_served(place: Place) -> None:
    place.push({**files("other", "/a"), **files("Other", "/b")})
    assert (is_served(place, "Other"), is_served(place, "other")) == (True, False)
