"""Inspection of a state: test and lint."""

from typing import Any

import pytest

from tests.e2e.world import Place, World, page, redirect

RULES = [
    redirect("/old", "/middle"),
    redirect("/middle", "/new", status=302),
    redirect("shop.example/old", "https://shop.example/by-host", type="BASIC_HOST", status=307),
    redirect("^/o(.*)$", "/regex/$1", type="REGEX", status=308),
    redirect("^shop\\.example/deep/(.*)/(.*)$", "https://other.example/$2/$1", type="REGEX_HOST"),
    redirect("^/ol", "/never", type="REGEX"),
    redirect("/exact?a=1", "/with-query"),
    redirect("^/((x)|y)$", "/seen/$1/$2", type="REGEX"),
]


@pytest.fixture(scope="module")
def rules(world: World) -> Place:
    """Publish a project with rules of every type, and a page."""
    place = world.place()
    changes: list[Any] = [{"op": "put", "kind": "redirect", "item": item} for item in RULES]
    place.ask(
        "POST", "/draft/changes", 200, json=[*changes, {"op": "put", "kind": "page", "item": page("/robots.txt")}]
    )
    place.publish()
    return place


def ask(place: Place, url: str, **more: Any) -> Any:
    """Return the answer for one URL."""
    found = place.ask("POST", "/test", 200, json={"urls": [url], **more}).json()["results"]
    assert [each["url"] for each in found] == [url]
    return found[0]


@pytest.mark.parametrize(
    ("url", "status", "location", "source"),
    [
        ("/old", 301, "/middle", "/old"),
        ("https://shop.example/old", 307, "https://shop.example/by-host", "shop.example/old"),
        ("https://SHOP.example:8443/old?q=1", 307, "https://shop.example/by-host", "shop.example/old"),
        ("https://else.example/old", 301, "/middle", "/old"),
        ("/old/", 308, "/regex/ld/", "^/o(.*)$"),
        ("/OLD", None, None, None),
        ("https://shop.example/deep/a/b", 301, "https://other.example/b/a", "^shop\\.example/deep/(.*)/(.*)$"),
        ("https://else.example/deep/a/b", None, None, None),
        ("/exact?a=1", 301, "/with-query", "/exact?a=1"),
        ("/exact?a=2", None, None, None),
        ("/exact", None, None, None),
        ("/x", 301, "/seen/x/x", "^/((x)|y)$"),
        ("/y", 301, "/seen/y/", "^/((x)|y)$"),
        ("/nothing", None, None, None),
    ],
)
def test_a_url_is_answered_by_the_rule_that_wins(
    rules: Place, url: str, status: int | None, location: str | None, source: str | None
) -> None:
    found = ask(rules, url)
    assert (found["status"], found["location"]) == (status, location)
    assert (found["rule"] or {}).get("source") == source
    assert found["page"] is None


def test_the_rule_is_named_by_file_and_line(rules: Place) -> None:
    """It is the line of the rule in the file."""
    listed = {item["source"]: item for item in rules.get("/draft/redirects")["items"]}
    for url, source in (("/old", "/old"), ("/middle", "/middle"), ("/y", "^/((x)|y)$")):
        rule = ask(rules, url)["rule"]
        assert (rule["file"], rule["line"]) == (listed[source]["file"], listed[source]["line"])
    assert listed["/old"]["line"] != listed["/middle"]["line"]


def test_captures_and_losers_are_shown(rules: Place) -> None:
    found = ask(rules, "https://shop.example/old")
    assert [each["rule"]["source"] for each in found["candidates"]] == ["/old", "^/o(.*)$", "^/ol"]
    assert all(each["why"] for each in found["candidates"])
    assert ask(rules, "/y")["captures"] == ["y", None]


def test_the_chain_is_followed(rules: Place) -> None:
    chain = ask(rules, "/old")["chain"]
    assert [(hop["url"], hop["status"], hop["location"]) for hop in chain["hops"]] == [
        ("/old", 301, "/middle"),
        ("/middle", 302, "/new"),
    ]
    assert chain["loop"] is False


def test_a_page_answers_200(rules: Place) -> None:
    found = ask(rules, "/robots.txt")
    assert (found["status"], found["location"], found["rule"]) == (200, None, None)
    assert (found["page"]["path"], found["page"]["file"]) == ("/robots.txt", "shop/pages.yaml")


def test_many_are_answered_in_the_order_asked(rules: Place) -> None:
    urls = [f"/o{number}" for number in range(999, -1, -1)]
    found = rules.ask("POST", "/test", 200, json={"urls": urls}).json()["results"]
    assert [each["url"] for each in found] == urls
    assert [each["location"] for each in found] == [f"/regex/{url[2:]}" for url in urls]


def test_the_draft_and_any_version_can_be_asked(place: Place) -> None:
    place.published("/a")
    made = place.get("/draft/redirects")["items"][0]
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "/drafted"})
    version = place.get("/version")
    expected: dict[str | int, str | None] = {
        "published": "/new",
        "draft": "/drafted",
        1: None,
        "1": None,
        2: "/new",
        version: "/new",
        version[:9]: "/new",
    }
    assert {at: ask(place, "/a", at=at)["location"] for at in expected} == expected
    place.refused("POST", "/test", 404, "not_found", json={"urls": ["/a"], "at": 3})


def test_a_loop_in_a_draft_is_seen(place: Place) -> None:
    place.add("/a", "/b")
    place.add("/b", "/a")
    chain = ask(place, "/a", at="draft")["chain"]
    assert chain["loop"] is True
    assert [hop["location"] for hop in chain["hops"]] == ["/b", "/a"]


@pytest.mark.parametrize(
    "url", ["", "no-slash", "ftp://x.example/", "https://", "http://[::1/", "https://a b/", "/a\nb", "/" + "a" * 20_000]
)
def test_a_text_that_is_no_url_gets_its_problem_in_its_own_result(rules: Place, url: str) -> None:
    """The other URLs of the call get their results, and no match is still null."""
    found = rules.ask("POST", "/test", 200, json={"urls": ["/old", url, "/nothing"]}).json()["results"]
    assert [each["url"] for each in found] == ["/old", url, "/nothing"]
    assert [each.get("status", "none") for each in found] == [301, "none", None]
    assert found[1].keys() == {"url", "problem"}
    assert found[1]["problem"]["code"] == "bad_url"
    assert " " in found[1]["problem"]["message"]


def test_a_path_with_two_slashes_is_a_path(place: Place) -> None:
    """Clients can send it; it is neither a host nor the path with one slash."""
    place.published("//twice/a")
    urls = ["//twice/a", "///twice/a", "/twice/a", "https://shop.example//twice/a?q"]
    found = place.ask("POST", "/test", 200, json={"urls": urls}).json()["results"]
    assert [each["location"] for each in found] == ["/new", None, None, "/new"]
    assert found[0]["chain"]["hops"][0]["url"] == "//twice/a"


def test_ten_thousand_urls_are_tested_in_one_call(rules: Place) -> None:
    urls = [f"/o{number}" for number in range(10_000)]
    urls[5_000] = "no url"
    found = rules.ask("POST", "/test", 200, json={"urls": urls}).json()["results"]
    assert [each["url"] for each in found] == urls
    assert [each.get("location") for each in found] == [
        None if url == "no url" else f"/regex/{url[2:]}" for url in urls
    ]
    refused = rules.ask("POST", "/test", 422, json={"urls": [*urls, "/one-more"]}).json()
    assert [each["code"] for each in refused["problems"]] == ["too_long"]
    drafted = rules.ask("POST", "/test", 200, json={"urls": urls, "at": "draft"}).json()["results"]
    assert drafted == found


def test_lint_lists_errors_and_warnings_with_their_places(place: Place) -> None:
    place.add("/chain", "/next")
    place.add("/next", "/end")
    place.add("no-anchor", "/x", type="REGEX")
    place.publish()
    place.add("/loop", "/loop")
    published, draft = (place.get("/lint", at=at)["problems"] for at in ("published", "draft"))
    assert {each["code"] for each in published} == {"chain", "regex_unanchored"}
    assert {each["severity"] for each in published} == {"warning"}
    assert all(each["file"] == "shop/redirects.yaml" and each["line"] for each in published)
    assert {each["code"] for each in draft} - {each["code"] for each in published} == {"redirect_loop"}
    assert place.get("/lint", at="1")["problems"] == []
    place.refused("GET", "/lint?at=99", 404, "not_found")
    place.refused("GET", "/lint?at=nonsense", 404, "not_found")
    place.refused("GET", "/lint?at=a..b", 400, "bad_request")
