"""From draft to release: publishes and their refusals, lost replies, conflicts, rollback, history, review."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.git import Clone, check_repository, git, remove_hooks, rules
from tests.e2e.world import Place, World, page, redirect
from tests.service import wait_until

NOTHING = {"added": 0, "changed": 0, "removed": 0}


def test_a_publish_says_what_it_became(place: Place) -> None:
    place.add("/a")
    place.add_page("/p.txt")
    answer = place.ask("POST", "/publish", 200, json={"message": "Spring sale"})
    found = answer.json()
    assert found["version"] == place.get("/version") == answer.headers["X-Project-Version"]
    assert found["publishNumber"] == 2
    added = {**NOTHING, "added": 1}
    assert found["changes"] == {"redirects": added, "pages": added}
    newest = place.get("/history")["items"][0]
    assert (newest["version"], newest["message"], newest["changes"]) == (
        found["version"],
        "Spring sale",
        found["changes"],
    )
    assert place.get("/draft")["head"] is None


def test_nothing_to_publish_is_reported(place: Place) -> None:
    place.refused("POST", "/publish", 409, "nothing_to_publish")
    made = place.add("/a")
    place.ask("DELETE", f"/draft/redirects/{made['id']}", 204)
    place.refused("POST", "/publish", 409, "nothing_to_publish")


def test_the_same_head_again_answers_with_what_it_became(place: Place) -> None:
    place.add("/a")
    head = place.get("/draft")["head"]
    first = place.publish(head=head)
    place.published("/b")
    assert place.publish(head=head) == first
    place.add("/c")
    assert place.publish(head=head) == first
    assert "/c" not in place.sources()


def test_a_head_that_is_not_the_drafts_is_stale(place: Place) -> None:
    place.add("/a")
    seen = place.get("/draft")["head"]
    place.add("/b")
    for head in (seen, "0" * 40):
        place.refused("POST", "/publish", 409, "stale_draft", json={"head": head})
    assert place.get("/version") == place.get("/history")["items"][-1]["version"]


@pytest.mark.parametrize("body", [{"head": "x"}, {"head": 1}, {"message": []}, {"other": 1}, [], "x", {"override": ""}])
def test_a_request_of_another_shape_is_422(place: Place, body: Any) -> None:
    place.add("/a")
    place.refused("POST", "/publish", 422, "invalid_body", json=body)


def test_a_request_body_is_never_ignored(place: Place) -> None:
    """A chunked body without a content type would be ignored, and the head in it with it."""
    place.add("/a")
    place.refused("POST", "/publish", 415, "unsupported_media_type", content=iter([b'{"head": "%b"}' % (b"0" * 40)]))
    assert place.sources() == []


def test_problems_of_the_set_stop_a_publish_with_file_and_line(place: Place) -> None:
    place.add("/a", "/b")
    place.add("/b", "/a")
    found = place.refused("POST", "/publish", 422, "invalid_content")
    for problem in found["problems"]:
        assert (problem["code"], problem["file"], problem["severity"]) == (
            "redirect_loop",
            "shop/redirects.yaml",
            "error",
        )
        assert problem["line"] > 1
    assert place.sources() == []
    assert place.get("/draft")["head"]


def test_a_page_that_a_redirect_hides_stops_a_publish(place: Place) -> None:
    place.add("/robots.txt")
    place.add_page("/robots.txt")
    found = place.refused("POST", "/publish", 422, "invalid_content")
    assert "page_unreachable" in {each["code"] for each in found["problems"]}


def test_warnings_stop_a_publish_only_where_lint_is_strict(world: World, place: Place) -> None:
    strict = world.place(place.namespace, "strict", lint="strict")
    for each in (place, strict):
        each.add("no-anchor", "/x", type="REGEX")
        codes = {problem["code"] for problem in each.get("/draft")["problems"]}
        assert "regex_unanchored" in codes
    place.publish()
    strict.refused("POST", "/publish", 422, "invalid_content")


def test_a_test_of_the_project_that_fails_stops_a_publish(place: Place, tmp_path: Path) -> None:
    place.published("/old")
    clone = Clone.of(place.repository, tmp_path / "clone")
    clone.publish("shop/tests.yaml", "tests:\n  - url: /old\n    status: 301\n    location: /new\n")
    made = place.get("/draft/redirects")["items"][0]
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/elsewhere"})
    found = place.refused("POST", "/publish", 422, "invalid_content")
    assert [(each["code"], each["file"], each["line"]) for each in found["problems"]] == [
        ("test_failed", "shop/tests.yaml", 2)
    ]


def conflicting(place: Place) -> tuple[str, str]:
    """Create two drafts that change one field differently, publish one; return the rule's id and the other's name."""
    made = place.add("/a", "/base")
    place.publish()
    place.ask("PATCH", f"/draft/redirects/{made['id']}?draft=other", 200, json={"target": "/theirs"})
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/ours"})
    place.publish()
    return made["id"], "other"


def test_a_field_that_two_drafts_changed_differently_is_a_conflict(place: Place) -> None:
    known, draft = conflicting(place)
    before = place.get("/version")
    found = place.refused("POST", f"/publish?draft={draft}", 409, "conflict")
    expected = {
        "kind": "redirect",
        "id": known,
        "source": "/a",
        "field": "target",
        "base": "/base",
        "release": "/ours",
        "draft": "/theirs",
    }
    assert found["conflicts"] == [expected]
    assert place.get(f"/draft?draft={draft}")["conflicts"] == [expected]
    assert place.get("/version") == before


def test_a_conflict_ends_when_the_draft_takes_the_others_value(place: Place) -> None:
    known, draft = conflicting(place)
    place.ask("PATCH", f"/draft/redirects/{known}?draft={draft}", 200, json={"target": "/ours"})
    place.ask("POST", f"/draft/redirects?draft={draft}", 201, json=redirect("/more"))
    place.ask("POST", f"/publish?draft={draft}", 200)
    assert place.get("/redirects")["items"][0]["target"] == "/ours"


def test_removed_on_one_side_and_changed_on_the_other_is_a_conflict_of_the_whole_rule(place: Place) -> None:
    made = place.add("/a", "/base")
    place.publish()
    place.ask("DELETE", f"/draft/redirects/{made['id']}?draft=other", 204)
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/ours"})
    place.publish()
    conflict = place.refused("POST", "/publish?draft=other", 409, "conflict")["conflicts"][0]
    assert (conflict["field"], conflict["draft"]) == ("", None)
    assert conflict["release"]["target"] == "/ours"


def test_what_two_drafts_changed_apart_is_merged(place: Place) -> None:
    made = place.add("/a", "/base")
    place.publish()
    place.ask("PATCH", f"/draft/redirects/{made['id']}?draft=other", 200, json={"status": "FOUND"})
    place.ask("POST", "/draft/redirects?draft=other", 201, json=redirect("/theirs"))
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/ours"})
    place.add("/mine")
    place.publish()
    place.ask("POST", "/publish?draft=other", 200)
    items = {item["source"]: item for item in place.get("/redirects")["items"]}
    assert set(items) == {"/a", "/mine", "/theirs"}
    assert (items["/a"]["target"], items["/a"]["status"]) == ("/ours", "FOUND")


def test_settings_that_both_sides_changed_are_a_conflict_in_the_contracts_shape(place: Place, tmp_path: Path) -> None:
    """Only a push can change project.yaml on a draft; a conflict of a file that is not a list is also reported."""
    place.add("/a")
    clone = Clone.of(place.repository, tmp_path / "clone", "draft/shop/main")
    clone.write("shop/project.yaml", "project:\n  title: Theirs\n")
    clone.commit()
    clone.push("draft/shop/main")
    place.ask("PATCH", "", 200, json={"title": "Ours"})
    assert len(place.refused("POST", "/publish", 409, "conflict")["conflicts"]) == 1
    assert len(place.get("/draft")["conflicts"]) == 1


def test_a_rollback_is_a_new_version_with_old_content(place: Place) -> None:
    place.published("/a")
    place.published("/b")
    answer = place.ask("POST", "/rollback", 200, json={"version": 2, "message": "Take /b back"})
    found = answer.json()
    assert (found["publishNumber"], found["version"]) == (4, place.get("/version"))
    assert found["changes"]["redirects"] == {**NOTHING, "removed": 1}
    assert place.sources() == ["/a"]
    assert place.get("/history")["items"][0]["message"] == "Take /b back"
    place.refused("POST", "/rollback", 409, "nothing_to_publish", json={"version": 2})


def test_a_rollback_with_the_newest_version_that_it_expects_replaces_no_other(place: Place) -> None:
    place.published("/a")
    place.published("/b")
    for stale in (2, place.get("/history/2")["version"]):
        place.refused("POST", "/rollback", 409, "stale_version", json={"version": 1, "expectedVersion": stale})
    assert place.sources() == ["/a", "/b"]
    place.refused("POST", "/rollback", 404, "not_found", json={"version": 1, "expectedVersion": 9})
    answer = place.ask("POST", "/rollback", 200, json={"version": 2, "expectedVersion": 3})
    assert answer.json()["publishNumber"] == 4
    assert place.sources() == ["/a"]


def test_a_rollback_keeps_an_open_draft_and_todays_settings(place: Place) -> None:
    place.published("/a")
    place.published("/b")
    place.ask("PATCH", "", 200, json={"title": "New title"})
    place.add("/c")
    place.ask("POST", "/rollback", 200, json={"version": "2"})
    assert place.get("")["title"] == "New title"
    place.publish()
    assert place.sources() == ["/a", "/c"]


@pytest.mark.parametrize("word", ["nonsense", 0, -1, "", None, 1.5, True])
def test_a_rollback_to_an_invalid_version_is_422(place: Place, word: Any) -> None:
    place.refused("POST", "/rollback", 422, "invalid_body", json={"version": word})


def test_the_history_is_newest_first_in_windows(place: Place) -> None:
    for number in range(4):
        place.published(f"/{number}")
    whole = place.get("/history")
    assert [item["publishNumber"] for item in whole["items"]] == [5, 4, 3, 2, 1]
    assert whole["total"] == 5
    assert place.get("/history", limit=2, offset=1)["items"] == whole["items"][1:3]
    assert place.get("/history", offset=9)["items"] == []
    assert len({item["version"] for item in whole["items"]}) == 5


def test_a_publish_in_the_history_shows_what_it_changed(world: World, place: Place) -> None:
    made = place.add("/a", "/old", note="n")
    place.publish()
    grace = place.as_(world.person("publisher"))
    grace.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/new"})
    grace.add_page("/p.txt")
    found = grace.publish(message="Why not")
    entry = place.get(f"/history/{found['publishNumber']}")
    assert entry == place.get(f"/history/{found['version'][:10]}")
    assert entry["message"] == "Why not"
    assert entry["publishedBy"].startswith("Ada Lovelace <")
    assert entry["approvedBy"] is None
    changes = {(each["kind"], each["change"]): each for each in entry["diff"]}
    assert changes["redirect", "changed"]["fields"] == {"target": {"old": "/old", "new": "/new"}}
    assert changes["page", "added"]["fields"]["content"] == {"old": None, "new": "hello"}


def test_the_difference_between_any_two_states(place: Place) -> None:
    place.published("/a")
    place.published("/b")
    place.add("/c")
    for start, end, sources in (
        ("published", "draft", ["/c"]),
        ("1", "2", ["/a"]),
        ("1", "published", ["/a", "/b"]),
        ("1", "draft", ["/a", "/b", "/c"]),
        ("3", "3", []),
    ):
        found = place.get("/diff", **{"from": start, "to": end})
        assert [each["source"] for each in found["changes"]] == sources
        assert found["counts"]["redirects"]["added"] == len(sources)
    back = place.get("/diff", **{"from": "draft", "to": "1"})
    assert {each["change"] for each in back["changes"]} == {"removed"}
    assert place.get("/diff")["changes"][0]["source"] == "/c"
    place.refused("GET", "/diff?from=99", 404, "not_found")


def test_review_is_asked_for_and_can_be_overridden_by_who_may(world: World) -> None:
    place = world.place(review="required")
    place.add("/a")
    place.refused("POST", "/publish", 403, "approval_required")
    publisher = place.holder(("redirect", "read"), ("project", "publish"))
    publisher.refused("POST", "/publish", 403, "approval_required")
    publisher.refused("POST", "/publish", 403, "forbidden", json={"override": "It burns"})
    place.publish(override="It burns")
    assert place.sources() == ["/a"]
    assert "It burns" in git(place.repository, "log", "-1", "--format=%B", "release")
    newest, first = place.get("/history")["items"]
    assert (newest["approvedBy"], newest["overrideReason"], first["overrideReason"]) == (None, "It burns", None)
    assert place.get(f"/history/{newest['version']}")["overrideReason"] == "It burns"


def test_a_publish_is_found_by_the_head_of_its_draft(world: World) -> None:
    place = world.place()
    made = [place.add(source) for source in ("/a", "/b")]
    place.publish(ids=[made[0]["id"]])
    head = place.get("/draft")["head"]
    place.publish()
    place.ask("POST", "/rollback", 200, json={"version": 2})
    items = place.get("/history")["items"]
    assert [each["publishNumber"] for each in items if each["mergedHead"] == head] == [3]
    assert items[0]["mergedHead"] is None
    assert place.get("/history/3")["mergedHead"] == head


def test_the_history_says_how_the_review_of_each_publish_ended(world: World) -> None:
    place, reviewer = world.place(), world.person("publisher")
    place.published("/unasked")
    for source, *actions in (
        ("/asked", "request"),
        ("/approved", "request", "approve"),
        ("/rejected", "approve", "reject"),
        ("/changed-mind", "reject", "approve"),
    ):
        place.add(source)
        for action in actions:
            caller = place if action == "request" else place.as_(reviewer)
            caller.ask("POST", "/draft/review", 200, json={"action": action, "head": place.get("/draft")["head"]})
        place.publish()
    place.ask("POST", "/rollback", 200, json={"version": 2})
    expected = [None, "approved", "rejected", "approved", "requested", "none", None]
    assert [each["reviewState"] for each in place.get("/history")["items"]] == expected
    assert [each["reviewState"] for each in place.get("/history", q="4")["items"]][-1:] == ["approved"]
    assert [each["reviewState"] for each in place.get("/history", source="/rejected")["items"]] == [None, "rejected"]


def test_the_history_names_the_verdicts_before_the_last_change_of_what_was_published(world: World) -> None:
    place = world.place()
    ada, kim = (place.as_(world.person("publisher")) for _ in range(2))
    for source, *steps in (
        ("/changed", (ada, "approve"), None),
        ("/changed-mind", (ada, "reject"), None, (kim, "reject"), (ada, "approve"), None),
        ("/asked-again", (ada, "approve"), None, (place, "request")),
        ("/approved-again", (ada, "approve"), None, (kim, "approve")),
        ("/unseen",),
    ):
        place.add(source)
        for number, step in enumerate(steps):
            if step is None:
                place.add(f"{source}-{number}")
                continue
            caller, action = step
            body = {"action": action, "head": place.get("/draft")["head"], "note": "So"}
            caller.ask("POST", "/draft/review", 200, json=body)
        place.publish()
    first, second = (f"Ada Lovelace <user-{each.root.get('/api/me')['id']}@waypost.invalid>" for each in (ada, kim))
    found = [
        (each["reviewState"], [(one["action"], one["by"]) for one in each["outdatedVerdicts"]])
        for each in place.get("/history")["items"]
    ]
    assert found == [
        ("none", []),
        ("approved", []),
        ("requested", [("approve", first)]),
        ("outdated", [("reject", second), ("approve", first)]),
        ("outdated", [("approve", first)]),
        (None, []),
    ]
    assert place.get("/history", q="2")["items"][0]["reviewState"] == "outdated"
    [rule] = place.get("/history", source="/changed")["items"]
    assert (rule["reviewState"], rule["outdatedVerdicts"][0]["by"]) == ("outdated", first)


def test_a_pushed_commit_that_names_no_commit_as_its_head_has_none(world: World, tmp_path: Path) -> None:
    place = world.place()
    place.published("/a")
    remove_hooks(place.repository)  # they refuse such a message
    clone = Clone.of(place.repository, tmp_path / "clone")
    clone.write("shop/redirects.yaml", rules("/b"))
    clone.commit("By hand\n\nMerged-head: <script>\nMerged-head: nothing")
    clone.push()
    wait_until(lambda: place.sources() == ["/b"], 20, "the push to be served")
    assert place.get("/history")["items"][0]["mergedHead"] is None


def test_a_draft_cannot_switch_its_own_review_off(world: World, tmp_path: Path) -> None:
    place = world.place(review="required")
    place.add("/a")
    clone = Clone.of(place.repository, tmp_path / "clone", "draft/shop/main")
    clone.write("shop/project.yaml", "project:\n  title: shop\n")
    clone.commit()
    clone.push("draft/shop/main")
    place.refused("POST", "/publish", 403, "approval_required")


def test_publishing_needs_its_own_grant(place: Place) -> None:
    editor = place.holder(("redirect", "read"), ("redirect", "write"), ("page", "read"), ("page", "write"))
    editor.add("/a")
    editor.refused("POST", "/publish", 403, "forbidden")
    editor.refused("POST", "/rollback", 403, "forbidden", json={"version": 1})


def test_git_shows_the_same_history(world: World, place: Place, tmp_path: Path) -> None:
    """Author and publisher are people, merges have two parents, and all objects are valid."""
    editor, publisher = place.as_(world.person("editor")), place.as_(world.person("publisher"))
    editor.add("/a")
    found = publisher.publish(message="Spring sale")
    version, parents = git(place.repository, "log", "-1", "--format=%H %P", "release").split(maxsplit=1)
    assert version == found["version"]
    assert len(parents.split()) == 2
    body = git(place.repository, "log", "-1", "--format=%an%n%B", "release")
    assert body.startswith("Ada Lovelace\n")
    assert "Spring sale" in body
    assert git(place.repository, "for-each-ref", "--format=%(refname)") == "refs/heads/release"
    assert (Clone.of(place.repository, tmp_path / "clone").folder / "shop/redirects.yaml").is_file()
    check_repository(place.repository)


def test_an_edit_leaves_every_other_byte_as_it_was(place: Place, tmp_path: Path) -> None:
    text = (
        "# Ours.\nredirects:\n\n  # the first\n  - {type: BASIC, source: '/a', target: \"/x\", status: 301}\n"
        "  - type: BASIC   # why\n    source: /b\n    target: /y\n    status: 302\n\n# the end\n"
    )
    Clone.of(place.repository, tmp_path / "clone").publish("shop/redirects.yaml", text)
    item = place.get("/draft/redirects", q="/b")["items"][0]
    assert (item["file"], item["line"]) == ("shop/redirects.yaml", 6)
    place.ask("PATCH", f"/draft/redirects/{item['id']}", 200, json={"target": "/z"})
    place.publish()
    assert git(place.repository, "show", "release:shop/redirects.yaml") == text.replace("/y", "/z").strip()


def test_selected_changes_are_published_and_the_rest_stays(place: Place) -> None:
    wanted, left = place.add("/wanted"), place.add("/left")
    place.publish(ids=[wanted["id"]])
    assert place.sources() == ["/wanted"]
    assert place.get(f"/draft/redirects/{left['id']}")["change"] == "added"
    place.publish()
    assert sorted(place.sources()) == ["/left", "/wanted"]


def test_pages_with_content_in_a_file_are_served_and_edited(place: Place, tmp_path: Path) -> None:
    clone = Clone.of(place.repository, tmp_path / "clone")
    clone.write("shop/pages/robots.txt", "User-agent: *\n")
    clone.write(
        "shop/pages.yaml",
        "pages:\n  - type: BASIC\n    path: /robots.txt\n    contentType: TEXT_PLAIN\n    file: pages/robots.txt\n",
    )
    commit = clone.commit()
    clone.push()
    place.wait_for(commit)
    assert place.get("/pages")["items"] == [page("/robots.txt", "User-agent: *\n")]
    known = place.get("/draft/pages")["items"][0]
    place.ask("PATCH", f"/draft/pages/{known['id']}", 200, json={"content": "User-agent: x\n"})
    place.publish()
    assert place.get("/pages")["items"][0]["content"] == "User-agent: x\n"
    assert git(place.repository, "show", "release:shop/pages/robots.txt") == "User-agent: x"
