"""The review after its end: a publish has the remarks that led to it, and a proposal that is gone tells what became of it."""

from pathlib import Path
from typing import Any

from tests.e2e.git import git, rules
from tests.e2e.pusher import Pusher
from tests.e2e.test_proposals import path_of
from tests.e2e.test_review import say
from tests.e2e.world import Place, World


def notes(place: Place, number: int, **params: Any) -> list[str]:
    return [each["note"] for each in place.get(f"/history/{number}/review", **params)["items"]]


def test_a_publish_has_the_remarks_on_its_draft(world: World) -> None:
    place = world.place(review="required").as_(world.person("publisher"))
    kim = place.as_(world.person("publisher"))
    rule = place.add("/a")
    say(place, "comment", note="First", item={"kind": "redirect", "id": rule["id"]})
    place.add("/b")
    say(place, "request", note="Please look")
    say(kim, "approve", note="Good")
    head = place.get("/draft")["head"]
    place.publish(head=head)
    place.add("/c")
    say(place, "comment", note="Of the next draft")
    found = place.get("/history/2/review")
    assert [(each["action"], each["note"], each["current"]) for each in found["items"]] == [
        ("comment", "First", False),
        ("request", "Please look", True),
        ("approve", "Good", True),
    ]
    assert (found["head"], found["total"], found["limit"], found["offset"]) == (head, 3, 500, 0)
    assert found["items"][0]["item"]["source"] == "/a"
    assert notes(place, 2, newest=True, limit=1) == ["Good"]
    assert notes(place, 1) == []
    place.refused("GET", "/history/9/review", 404, "not_found")


def test_who_may_not_read_a_kind_of_records_gets_the_remarks_without_their_names(place: Place) -> None:
    rule = place.add("/secret")
    say(place, "comment", note="First", item={"kind": "redirect", "id": rule["id"]})
    place.publish()
    [item] = place.holder(("project", "read")).get("/history/2/review")["items"]
    assert item["item"] == {"kind": "redirect", "id": rule["id"], "source": None}
    place.holder(("redirect", "read")).refused("GET", "/history/2/review", 403, "forbidden")


def test_a_publish_of_some_changes_has_the_remarks_on_all(place: Place) -> None:
    chosen = place.add("/a")
    place.add("/b")
    say(place, "comment", note="Only /a for now")
    place.publish(head=place.get("/draft")["head"], ids=[chosen["id"]])
    assert notes(place, 2) == ["Only /a for now"]


def pushed(place: Place, folder: Path, branch: str) -> tuple[Pusher, str]:
    clone = Pusher.of(place, folder)
    head = clone.commit("shop/redirects.yaml", rules("/sale"))
    clone.pushed("origin", f"HEAD:{branch}")
    return clone, head


def test_a_merged_proposal_leads_to_its_publish_which_has_its_review(place: Place, tmp_path: Path) -> None:
    _, head = pushed(place, tmp_path / "clone", "team/sale")
    comment = {"action": "comment", "head": head, "note": "Which offers?"}
    place.root.ask("POST", path_of(place, "team/sale", "/review"), 200, json=comment)
    merged = place.root.ask("POST", path_of(place, "team/sale", "/merge"), 200).json()
    for tail in ("", "/review"):
        gone = place.root.refused("GET", path_of(place, "team/sale", tail), 404, "not_found")
        assert gone["message"].endswith("is merged: it is publish 2 of shop.")
        [(name, found)] = gone["mergedAs"].items()
        assert (name, found["version"], found["publishNumber"]) == ("shop", merged["version"], 2)
        assert found["publishedBy"] == place.get("/history/2")["publishedBy"]
    assert notes(place, 2) == ["", "Which offers?"]
    stranger = place.world.place(place.namespace, "blog").holder(("project", "read"))
    hidden = stranger.root.refused("GET", path_of(place, "team/sale"), 404, "not_found")
    assert hidden["message"].startswith("There is no proposal")
    assert "mergedAs" not in hidden


def test_a_proposal_that_git_merged_leads_to_its_publish(place: Place, tmp_path: Path) -> None:
    clone, _ = pushed(place, tmp_path / "clone", "team/sale")
    git(clone.folder, "switch", "-q", "--detach", "origin/release")
    git(clone.folder, "merge", "-q", "--no-ff", "-m", "Sale", "origin/team/sale")
    clone.pushed("origin", "HEAD:release")
    clone.push("origin", ":team/sale")
    gone = place.root.refused("GET", path_of(place, "team/sale"), 404, "not_found")
    assert gone["mergedAs"]["shop"]["publishNumber"] == 2


def test_a_removed_proposal_says_so_also_after_an_earlier_merge_of_its_name(place: Place, tmp_path: Path) -> None:
    clone, _ = pushed(place, tmp_path / "clone", "team/sale")
    place.root.ask("POST", path_of(place, "team/sale", "/merge"), 200)
    git(clone.folder, "fetch", "-q", "origin")
    git(clone.folder, "reset", "-q", "--hard", "origin/release")
    clone.commit("shop/redirects.yaml", rules("/other"))
    clone.pushed("origin", "HEAD:team/sale")
    place.root.ask("DELETE", path_of(place, "team/sale"), 204)
    gone = place.root.refused("GET", path_of(place, "team/sale"), 404, "not_found")
    assert "was removed" in gone["message"]
    assert "mergedAs" not in gone
