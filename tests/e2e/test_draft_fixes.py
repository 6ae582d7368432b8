"""The safe fixes of a draft through the API: listed, applied one by one or together, as `waypost validate --fix` makes them."""

from pathlib import Path

from content.records.names import DEFAULT_DRAFT
from gitstore.layout import draft_ref
from tests.e2e.git import Clone, git
from tests.e2e.world import Place, World


def chained(place: Place) -> None:
    """Publish a chain of three, and a rule that is there twice."""
    place.add("/a", "/b")
    place.add("/b", "/c")
    place.add("/c", "/d")
    place.publish()


def test_a_chain_is_listed_and_one_rule_of_it_fixed(place: Place) -> None:
    chained(place)
    found = place.get("/draft/fixes")
    assert (found["head"], found["total"]) == (None, 2)
    first = found["items"][0]
    assert (first["source"], first["fixes"], first["change"]) == ("/a", ["chain"], "changed")
    assert first["fields"] == {"target": {"old": "/b", "new": "/d"}}
    assert first["title"] == "Lead to the end of the chain at once"
    rules = [{"file": first["file"], "line": first["line"]}]
    made = place.ask("POST", "/draft/fixes", 200, json={"rules": rules}).json()
    assert made == {"head": place.get("/draft")["head"], "fixed": 1}
    assert {each["source"]: each["target"] for each in place.get("/draft/redirects")["items"]} == {
        "/a": "/d",
        "/b": "/c",
        "/c": "/d",
    }
    assert place.refused("POST", "/draft/fixes", 404, "not_found", json={"rules": rules})
    assert [each["source"] for each in place.get("/draft/fixes")["items"]] == ["/b"]


def test_all_are_fixed_and_comments_and_the_first_duplicate_stay(place: Place, tmp_path: Path) -> None:
    rules = (
        "redirects:\n"
        "  # why\n"
        "  - {type: BASIC, source: /a, target: /b, status: MOVED_PERMANENT}\n"
        "  # the same again\n"
        "  - {type: BASIC, source: /a, target: /b, status: MOVED_PERMANENT}\n"
        "  - {type: BASIC_HOST, source: EXAMPLE.org/x, target: /y, status: MOVED_PERMANENT}\n"
    )
    place.add("/z")
    branch = draft_ref("shop", DEFAULT_DRAFT).removeprefix("refs/heads/")
    clone = Clone.of(place.repository, tmp_path / "clone", branch)
    clone.write("shop/redirects.yaml", rules)
    clone.commit()
    clone.push(branch)
    found = place.get("/draft/fixes")
    assert [(each["fixes"], each["change"]) for each in found["items"]] == [
        (["duplicate"], "removed"),
        (["host"], "changed"),
    ]
    made = place.ask("POST", "/draft/fixes", 200, json={"head": found["head"]}).json()
    assert made["fixed"] == 2
    text = git(place.repository, "show", f"{branch}:shop/redirects.yaml")
    assert text.count("/a") == 1
    assert "# why" in text
    assert "# the same again" in text
    assert "example.org/x" in text
    assert place.ask("POST", "/draft/fixes", 200, json={}).json() == {"head": made["head"], "fixed": 0}


def test_a_draft_that_moved_is_not_fixed(place: Place) -> None:
    chained(place)
    place.add("/e")
    place.refused("POST", "/draft/fixes", 409, "stale_draft", json={"head": "0" * 40})


def test_fixes_need_the_grant_to_write(world: World, place: Place) -> None:
    chained(place)
    reader = world.holder(("project", "read"), ("redirect", "read"), ("page", "read"))
    reader.refused("POST", f"{place.path}/draft/fixes", 403, "forbidden", json={})
    writer = world.holder(("project", "read"), ("redirect", "read"), ("redirect", "write"))
    assert writer.ask("POST", f"{place.path}/draft/fixes", 200, json={}).json()["fixed"] == 2
