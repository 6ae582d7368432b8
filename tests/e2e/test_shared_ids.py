"""A redirect and a page of one path have one id: a change of one alone is chosen by its kind."""

from content.records.record import identity_id
from tests.e2e.world import Place, World

SAME = identity_id("/same")


def replaced(world: World) -> Place:
    """Create a project with a draft that has a page in place of a redirect."""
    place = world.place()
    place.published("/same", "/other")
    place.ask("DELETE", f"/draft/redirects/{SAME}", 204)
    place.add_page("/same", "typed for long")
    return place


def left(place: Place) -> set[tuple[str, str]]:
    return {(each["kind"], each["change"]) for each in place.get("/draft/changes")["items"]}


def test_a_change_of_one_kind_is_published_alone(world: World) -> None:
    place = replaced(world)
    place.refused("POST", "/publish", 422, "invalid_content", json={"ids": [f"page:{SAME}"]})
    assert left(place) == {("redirect", "removed"), ("page", "added")}
    place.publish(ids=[f"redirect:{SAME}"])
    assert (place.sources(), place.get("/pages")["total"]) == (["/other"], 0)
    assert left(place) == {("page", "added")}
    place.refused("POST", "/publish", 404, "not_found", json={"ids": [f"redirect:{SAME}"]})
    place.publish(ids=[f"page:{SAME}"])
    assert place.get("/pages")["total"] == 1


def test_a_change_of_one_kind_is_reverted_alone(world: World) -> None:
    place = replaced(world)
    place.ask("POST", "/draft/revert", 200, json={"ids": [f"redirect:{SAME}"]})
    assert left(place) == {("page", "added")}
    place.refused("POST", "/draft/revert", 404, "not_found", json={"ids": [f"redirect:{SAME}"]})
    for name in (f"file:{SAME}", f"page: {SAME}", "page:"):
        place.ask("POST", "/draft/revert", 422, json={"ids": [name]})


def test_an_id_alone_means_both(world: World) -> None:
    place = replaced(world)
    place.publish(ids=[SAME])
    assert (place.sources(), place.get("/pages")["total"]) == (["/other"], 1)
