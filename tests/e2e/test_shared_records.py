"""Records that other drafts and proposals change too: found by id, for those who may read them."""

from pathlib import Path

from content.records.record import identity_id
from tests.e2e.git import Clone, rules
from tests.e2e.world import World

A, B, C, TEXT = (identity_id(each) for each in ("/a", "/b", "/c", "/text"))


def test_records_that_other_drafts_and_proposals_change_are_shown(world: World) -> None:
    place = world.place()
    place.add_page("/text")
    place.published("/a", "/b", "/c")
    assert place.get("/draft/shared", ids=A) == {"items": []}
    kim = place.as_(world.person("publisher"))
    place.ask("PATCH", f"/draft/redirects/{A}", 200, json={"note": "mine"})
    kim.ask("PATCH", f"/draft/redirects/{A}?draft=other", 200, json={"note": "theirs"})
    kim.ask("DELETE", f"/draft/redirects/{B}?draft=other", 204)
    kim.ask("PATCH", f"/draft/pages/{TEXT}?draft=third", 200, json={"content": "theirs"})
    kim.add("/new")
    found = place.get("/draft/shared", ids=f"{A},{B},{C},{TEXT},{identity_id('/new')}")["items"]
    assert {(each["kind"], each["id"], each["change"], each["draft"]) for each in found} == {
        ("page", TEXT, "changed", "third"),
        ("redirect", A, "changed", "other"),
        ("redirect", B, "removed", "other"),
    }
    assert len(found) == 3
    assert {each["updatedBy"] for each in found} == {"Ada Lovelace"}
    assert {each["proposal"] for each in found} == {None}
    [main] = place.get("/draft/shared", draft="other", ids=f"{identity_id('/new')}")["items"]
    assert (main["draft"], main["change"]) == ("main", "added")
    reader = place.holder(("project", "read"), ("page", "read"))
    assert [each["kind"] for each in reader.get("/draft/shared", ids=f"{A},{TEXT}")["items"]] == ["page"]


def test_a_proposal_shares_records_but_a_branch_at_the_head_of_a_draft_does_not(world: World) -> None:
    place = world.place()
    place.published("/a")
    place.ask("PATCH", f"/draft/redirects/{A}", 200, json={"note": "mine"})
    body = {"branch": "team/sale", "project": "shop"}
    proposal = place.root.ask("POST", f"{place.space}/proposals", 201, json=body).json()
    assert place.get("/draft/shared", ids=A)["items"] == []
    [main] = place.get("/draft/shared", draft="other", ids=A)["items"]
    assert (main["draft"], main["proposal"]) == ("main", None)
    place.ask("PATCH", f"/draft/redirects/{A}", 200, json={"note": "mine, again"})
    [found] = place.get("/draft/shared", ids=A)["items"]
    assert (found["proposal"], found["title"], found["draft"]) == (proposal["id"], proposal["title"], None)


def test_the_ids_and_grants_of_shared_records_are_checked(world: World) -> None:
    place = world.place()
    for query in ("", "?ids=", "?ids=x", f"?ids={A},", f"?ids={A}&ids={B}", f"?ids={','.join([A] * 101)}"):
        place.refused("GET", f"/draft/shared{query}", 400, "bad_parameter")
    place.holder(("redirect", "read"), ("redirect", "write")).refused("GET", f"/draft/shared?ids={A}", 403, "forbidden")
    place.root.refused("GET", f"{place.space}/project/none/draft/shared?ids={A}", 404, "not_found")


def test_the_title_of_a_proposal_is_shown_to_those_who_may_read_all_that_it_changes(
    world: World, tmp_path: Path
) -> None:
    """It may name the rules of another project."""
    place = world.place()
    world.place(place.namespace, "blog")
    place.published("/a")
    clone = Clone.of(place.repository, tmp_path / "clone")
    for project in (place.project, "blog"):
        clone.write(f"{project}/redirects.yaml", rules("/a").replace("/new", "/other"))
    clone.commit("Close /secret of the blog")
    clone.push("team/both")
    seen = []
    for project in (place.project, "*"):
        reader = world.holder(("project", "read"), ("redirect", "read"), namespace=place.namespace, project=project)
        [found] = reader.get(f"{place.path}/draft/shared", ids=A)["items"]
        seen.append((found["change"], found["title"]))
    assert seen == [("changed", "team/both"), ("changed", "Close /secret of the blog")]
