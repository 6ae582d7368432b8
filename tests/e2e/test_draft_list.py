"""The list of a project's drafts through the API."""

from tests.e2e.world import Place, World


def test_drafts_with_changes_are_listed_with_what_tells_them_apart(place: Place) -> None:
    place.published("/a")
    assert place.get("/drafts") == {"items": []}
    [made] = place.get("/draft/redirects")["items"]
    place.add("/b")
    place.ask("PATCH", f"/draft/redirects/{made['id']}?draft=autumn", 200, json={"target": "/c"})
    found = place.get("/drafts")["items"]
    assert {each["draft"] for each in found} == {"main", "autumn"}
    autumn = next(each for each in found if each["draft"] == "autumn")
    assert autumn["head"] == place.get("/draft", draft="autumn")["head"]
    assert autumn["changes"]["redirects"] == {"added": 0, "changed": 1, "removed": 0}
    assert [autumn["updatedBy"]] == autumn["authors"]
    assert (len(autumn["authors"]), autumn["conflicts"], autumn["review"]["state"]) == (1, 0, "none")
    place.ask("DELETE", "/draft?draft=autumn", 204)
    assert [each["draft"] for each in place.get("/drafts")["items"]] == ["main"]


def test_the_list_needs_the_grant_to_read_the_project(world: World, place: Place) -> None:
    world.holder(("redirect", "read")).refused("GET", f"{place.path}/drafts", 403, "forbidden")
    world.root.refused("GET", f"{place.space}/project/nothing/drafts", 404, "not_found")
