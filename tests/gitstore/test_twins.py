"""Projects whose names differ in case alone, which only plain Git can make: the first goes on, the other waits."""

import shutil
from collections.abc import Callable

import pytest

from gitstore.drafts import DraftName
from gitstore.errors import AlreadyExists, Broken, Invalid, NotFound
from gitstore.project_file import ProjectFile
from tests.gitstore.places import ADA, SHOP, SPACE, Place, put, redirect

TITLE = "project: {title: Shop}\n"


def files(project: str, source: str) -> dict[str, str | bytes | None]:
    rule = f"redirects:\n- {{type: BASIC, source: {source}, target: /x, status: 301}}\n"
    return {f"{project}/project.yaml": TITLE, f"{project}/redirects.yaml": rule}


def is_served(place: Place, project: str) -> bool:
    try:
        place.fresh().store.project(SPACE, project)
    except (Broken, NotFound):
        return False
    return True


@pytest.mark.parametrize("twin", ["Shop", "SHOP"])
def test_a_twin_that_is_pushed_is_not_served_and_says_why_and_the_first_goes_on(place: Place, twin: str) -> None:
    """Whichever of them comes first by name; and what is known of it is the same when all that is derived is lost."""
    place.publish(put(redirect("/first")))
    place.push(files(twin, "/second"))
    place.publish(put(redirect("/more")))
    for _ in range(2):
        assert (is_served(place, SHOP), is_served(place, twin)) == (True, False)
        (failure,) = place.fresh().store.failures()
        assert f"There is a project {SHOP} already" in failure
        assert twin in failure
        shutil.rmtree(place.paths.compiled)


def test_nothing_is_published_in_a_twin_but_it_can_be_removed(place: Place) -> None:
    place.push(files("Shop", "/second"))
    place.push(files("Shop", "/draft"), to="draft/Shop/main")
    works: list[Callable[[], object]] = [
        lambda: place.store.change_project(SPACE, "Shop", {"title": "More"}, ADA),
        lambda: place.publish(draft=DraftName("Shop", "main")),
    ]
    for work in works:
        with pytest.raises(Invalid) as refused:
            work()
        assert [problem.code for problem in refused.value.problems] == ["duplicate_project"]
    place.store.delete_project(SPACE, "Shop", ADA)
    assert place.fresh().store.failures() == []
    with pytest.raises(AlreadyExists):
        place.store.create_project(SPACE, "Shop", ProjectFile(), ADA)


def test_a_twin_is_served_once_it_is_the_only_one(place: Place) -> None:
    place.push(files("Shop", "/second"))
    assert not is_served(place, "Shop")
    place.store.delete_project(SPACE, SHOP, ADA)
    assert (is_served(place, SHOP), is_served(place, "Shop")) == (False, True)
    assert place.fresh().store.failures() == []
    place.push(files(SHOP, "/again"))
    assert (is_served(place, SHOP), is_served(place, "Shop")) == (False, True), "now it is the one that was there first"


def test_of_two_that_come_with_one_push_the_first_by_name_is_served(place: Place) -> None:
    place.push({**files("other", "/a"), **files("Other", "/b")})
    assert (is_served(place, "Other"), is_served(place, "other")) == (True, False)
