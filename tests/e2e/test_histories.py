"""The history of a rule, the differences of a branch, and an old version as a draft: over HTTP, on two workers."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.e2e.git import Clone, check_repository, remove_hooks
from tests.e2e.world import Place, World
from tests.service import wait_until

WRONG = "redirects:\n  - {sorce: /x}\n"
RULE = "redirects:\n  - {type: BASIC, source: /theirs, target: /x, status: FOUND}\n"


def life(place: Place, **params: Any) -> list[tuple[int, str]]:
    """Return publish numbers and their events, newest first."""
    return [
        (item["publishNumber"], item["change"])
        for item in place.ask("GET", "/history", 200, params=params).json()["items"]
    ]


def branch(place: Place, folder: Path, name: str, files: dict[str, str]) -> None:
    """Push a branch with these files of the project, from the head of release."""
    clone = Clone.of(place.repository, folder / name.replace("/", "-"))
    for path, text in files.items():
        clone.write(f"{place.project}/{path}", text)
    clone.commit()
    clone.push(name)


def test_the_history_of_a_rule_shows_who_changed_what(world: World, place: Place) -> None:
    made = place.add("/a", "/1")
    place.publish()
    place.published("/b")
    grace = place.as_(world.person("publisher"))
    grace.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/2"})
    grace.publish(message="Move it")
    place.ask("POST", "/rollback", 200, json={"version": 1})
    assert life(place, source="/a") == [(5, "removed"), (4, "changed"), (2, "added")]
    found = place.get("/history", source="/a", limit=1, offset=1)
    assert (found["total"], found["limit"], found["offset"]) == (3, 1, 1)
    item = found["items"][0]
    assert item["fields"] == {"target": {"old": "/1", "new": "/2"}}
    assert (item["message"], item["publishedBy"].partition(" <")[0]) == ("Move it", "Ada Lovelace")
    record = {
        name: value
        for name, value in item.items()
        if name not in {"change", "fields", "reviewState", "outdatedVerdicts"}
    }
    publish = place.get("/history/4")
    assert record == {name: value for name, value in publish.items() if name in record}
    assert life(place, source="/none") == []


def test_the_history_of_a_page_is_its_own(place: Place) -> None:
    place.add_page("/same")
    place.publish()
    place.published("/other")
    assert life(place, path="/same") == [(2, "added")]
    assert life(place, source="/same") == []


def test_a_history_is_of_one_rule_and_needs_its_grant(place: Place) -> None:
    place.published("/a")
    place.refused("GET", "/history?source=/a&path=/a", 400, "bad_parameter")
    place.refused("GET", "/history?source=", 400, "bad_parameter")
    place.refused("GET", "/history?source=/a&source=/b", 400, "bad_parameter")
    reader = place.holder(("project", "read"), ("page", "read"))
    assert life(reader, path="/a") == []
    reader.refused("GET", "/history?source=/a", 403, "forbidden")
    place.holder(("redirect", "read")).refused("GET", "/history?source=/a", 403, "forbidden")


def test_both_workers_show_the_same_history_while_rules_are_published(place: Place) -> None:
    made = place.add("/a", "/0")
    place.publish()

    def publish(number: int) -> None:
        place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": f"/{number}"})
        number_of_publish = place.publish()["publishNumber"]
        assert life(place, source="/a", limit=1) == [(number_of_publish, "changed")]

    for number in range(1, 7):
        publish(number)
    with ThreadPoolExecutor(4) as pool:
        lives = list(pool.map(lambda _: life(place, source="/a"), range(8)))
    assert lives == [[*((number, "changed") for number in range(8, 2, -1)), (2, "added")]] * 8


def test_an_invalid_push_is_distinguished_after_all_compiled_files_are_removed(
    world: World, place: Place, tmp_path: Path
) -> None:
    place.published("/a")
    remove_hooks(place.repository)
    branch(place, tmp_path, "release", {"redirects.yaml": WRONG})
    wait_until(lambda: place.get("/history")["total"] == 3, 60, "the push to be seen")
    compiled = world.service.data / "compiled" / place.namespace
    for folder in ("versions", "changes"):
        (compiled / folder / place.project).unlink()
    served = {item["publishNumber"]: item["served"] for item in place.get("/history")["items"]}
    assert served == {1: True, 2: True, 3: False}
    assert [item["served"] for item in place.get("/history", source="/a")["items"]] == [False, True]


def test_a_branch_is_compared_with_any_state(place: Place, tmp_path: Path) -> None:
    place.published("/a")
    place.add("/mine")
    branch(place, tmp_path, "feature/x", {"redirects/00001.yaml": RULE})
    for start, end, sources in (
        ("published", "feature/x", ["/theirs"]),
        ("1", "refs/heads/feature/x", ["/a", "/theirs"]),
        ("branch:feature/x", "draft", ["/mine", "/theirs"]),
        ("base", f"draft/{place.project}/main", ["/mine"]),
    ):
        found = place.get("/diff", **{"from": start, "to": end})
        assert sorted(each["source"] for each in found["changes"]) == sources
        assert (found["from"], found["to"]) == (start, end)
    assert [item["source"] for item in place.get("/export", format="json", at="feature/x")["redirects"]] == [
        "/a",
        "/theirs",
    ]
    asked = place.ask("POST", "/test", 200, json={"urls": ["/theirs"], "at": "feature/x"}).json()
    assert asked["results"][0]["location"] == "/x"
    assert place.get("/lint", at="branch:feature/x")["items"] == []


def test_a_branch_that_cannot_be_compared_says_why(world: World, place: Place, tmp_path: Path) -> None:
    assert "feature-y" in place.refused("GET", "/diff?to=feature-y", 404, "not_found")["message"]
    place.refused("GET", "/diff?to=../../HEAD", 400, "bad_request")
    place.refused("GET", "/diff?from=base&to=published", 400, "bad_request")
    branch(place, tmp_path, "broken", {"redirects.yaml": WRONG})
    found = place.refused("GET", "/diff?to=broken", 422, "invalid_content")
    assert (found["problems"][0]["file"], found["problems"][0]["line"]) == (f"{place.project}/redirects.yaml", 2)
    later = world.place(place.namespace, "later")
    later.refused("GET", "/diff?to=broken", 404, "not_found")


def test_a_branch_shows_no_more_than_the_grants_do(place: Place, tmp_path: Path) -> None:
    pages = "pages:\n  - {type: BASIC, path: /p, contentType: TEXT_PLAIN, content: x}\n"
    branch(place, tmp_path, "both", {"redirects.yaml": RULE, "pages.yaml": pages})
    reader = place.holder(("project", "read"), ("page", "read"))
    found = reader.get("/diff", to="both")
    assert [each["kind"] for each in found["changes"]] == ["page"]
    assert found["counts"]["redirects"]["added"] == 0
    place.holder(("redirect", "read")).refused("GET", "/diff?to=both", 403, "forbidden")


def test_an_old_version_becomes_a_draft_and_is_published(place: Place) -> None:
    place.published("/a")
    place.published("/b")
    found = place.ask("POST", "/draft", 201, json={"version": 2, "message": "Without b"}).json()
    assert found["head"] == place.get("/draft")["head"]
    assert found["changes"]["redirects"] == {"added": 0, "changed": 0, "removed": 1}
    assert place.sources() == ["/a", "/b"]
    refused = place.refused("POST", "/draft", 409, "draft_exists", json={"version": 2})
    assert found["head"] in refused["message"]
    place.refused("POST", "/draft", 409, "stale_draft", json={"version": 1, "head": "0" * 40})
    place.ask("POST", "/draft", 201, json={"version": 1, "head": found["head"]})
    place.publish()
    assert place.sources() == []
    place.refused("POST", "/draft", 409, "nothing_to_change", json={"version": 1})
    place.refused("POST", "/draft", 404, "not_found", json={"version": 99})
    place.refused("POST", "/draft", 422, "invalid_body", json={"version": "HEAD"})
    place.ask("POST", "/draft?draft=second", 201, json={"version": "2"})
    check_repository(place.repository)


def test_reopening_needs_what_editing_both_kinds_needs(place: Place) -> None:
    place.published("/a")
    for held in ("redirect", "page"):
        place.holder((held, "write"), ("project", "publish")).refused(
            "POST", "/draft", 403, "forbidden", json={"version": 1}
        )
    place.holder(("redirect", "write"), ("page", "write")).ask("POST", "/draft", 201, json={"version": 1})


def numbers(place: Place, text: str, **params: Any) -> list[int]:
    """Return the numbers of the publishes that a text finds, newest first."""
    return [each["publishNumber"] for each in place.get("/history", q=text, **params)["items"]]


def test_publishes_are_found_by_message_person_number_and_version(world: World, place: Place) -> None:
    place.add("/a")
    place.publish(message="The spring sale\n\nFor 3 weeks in May.")
    grace = place.as_(world.person("publisher"))
    place.add("/b")
    grace.publish(message="By Grace")
    assert numbers(place, "SPRING") == [2]
    assert numbers(place, "weeks in may") == [2]
    assert numbers(place, "lovelace") == [3]
    assert numbers(place, "3") == [3, 2]  # its number, and a word of the message
    assert numbers(place, "2")[0] == 2  # before the newer ones, whose author is e2e
    assert numbers(place, place.get("/history/2")["version"][:7]) == [2]
    assert numbers(place, "e") == [3, 2, 1]
    assert numbers(place, "e", limit=1, offset=1) == [2]
    found = place.get("/history", q="e", limit=1)
    assert (found["total"], found["searched"]) == (3, 3)
    for absent in ("waypost.invalid", "user-", "no such text", "9"):
        assert numbers(place, absent) == []
    assert numbers(place, "  ") == [3, 2, 1]
    place.refused("GET", "/history?q=x&source=/a", 400, "bad_parameter")
