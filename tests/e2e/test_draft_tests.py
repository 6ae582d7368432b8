"""The tests of a project through the API: listed with their results, added, replaced; a publish waits for them."""

from pathlib import Path

from content.records.names import DEFAULT_DRAFT
from gitstore.layout import draft_ref
from tests.e2e.git import Clone
from tests.e2e.world import Place


def test_tests_are_added_run_and_hold_a_publish(place: Place) -> None:
    place.published("/a")
    assert place.get("/draft/tests") == {"head": None, "tests": [], "total": 0, "failed": 0, "problems": []}
    tests = [{"url": "/a", "status": 301, "location": "/new"}, {"url": "/nothing", "status": 404}]
    made = place.ask("POST", "/draft/tests", 200, json={"tests": tests}).json()
    assert (made["total"], made["head"]) == (2, place.get("/draft")["head"])
    again = place.ask("POST", "/draft/tests", 200, json={"tests": tests}).json()
    assert again == made
    found = place.get("/draft/tests")
    assert (found["failed"], [each["problem"] for each in found["tests"]]) == (0, [None, None])
    assert found["tests"][0]["file"] == "shop/tests.yaml"
    place.publish()
    place.add("/nothing")
    found = place.get("/draft/tests")
    assert found["failed"] == 1
    assert found["tests"][1]["problem"].startswith("/nothing should get 404")
    refused = place.refused("POST", "/publish", 422, "invalid_content")
    assert refused["problems"][0]["code"] == "test_failed"
    place.ask("PUT", "/draft/tests", 200, json={"tests": tests[:1]})
    place.publish()
    assert place.get("/draft/tests")["total"] == 1


def test_wrong_tests_are_refused_by_their_place(place: Place) -> None:
    for tests, pointer in (
        ([{"url": "/a", "status": 500}], "/tests/0/status"),
        ([{"url": "/a", "status": 404}, {"url": "http://[", "status": 404}], "/tests/1/url"),
        ([{"url": "/a", "status": 404, "location": "/b"}], "/tests/0/location"),
    ):
        for method in ("PUT", "POST"):
            refused = place.refused(method, "/draft/tests", 422, "invalid_body", json={"tests": tests})
            assert [each["pointer"] for each in refused["problems"]] == [pointer]
    place.refused("PUT", "/draft/tests", 409, "stale_draft", json={"tests": [], "head": "1" * 40})
    assert place.get("/draft")["head"] is None


def test_a_file_with_errors_is_told_and_only_replaced_as_a_whole(place: Place, tmp_path: Path) -> None:
    place.published("/a")
    place.add("/b")
    branch = draft_ref("shop", DEFAULT_DRAFT).removeprefix("refs/heads/")
    clone = Clone.of(place.repository, tmp_path / "clone", branch)
    clone.write("shop/tests.yaml", "tests:\n  - url: /a\n    status: 500\n")
    clone.commit()
    clone.push(branch)
    tests = [{"url": "/a", "status": 301}]
    found = place.get("/draft/tests")
    assert [(each["file"], each["line"]) for each in found["problems"]] == [("shop/tests.yaml", 3)]
    refused = place.refused("POST", "/draft/tests", 422, "invalid_content", json={"tests": tests})
    assert [each["line"] for each in refused["problems"]] == [3]
    place.ask("PUT", "/draft/tests", 200, json={"tests": tests})
    assert place.get("/draft/tests")["problems"] == []
    place.ask("PUT", "/draft/tests", 200, json={"tests": []})
    assert place.get("/draft/tests")["total"] == 0


def test_reading_and_writing_tests_need_their_grants(place: Place) -> None:
    reader = place.holder(("project", "read"))
    assert reader.get("/draft/tests")["total"] == 0
    reader.refused("PUT", "/draft/tests", 403, "forbidden", json={"tests": []})
    writer = place.holder(("redirect", "write"), ("redirect", "read"))
    writer.refused("GET", "/draft/tests", 403, "forbidden")
