"""Versions as agents see them: conditional requests, pinned walks, and every published version."""

import re
from typing import Any

import pytest

from tests.e2e.contract import describe
from tests.e2e.world import Place, World

LISTS = ("/redirects", "/pages")


@pytest.fixture
def three(place: Place) -> Place:
    """Create a project of three publishes: empty, then /a0 to /a4 with a page, then /b0 to /b4 as well."""
    place.add_page("/robots.txt")
    place.published(*(f"/a{number}" for number in range(5)))
    place.published(*(f"/b{number}" for number in range(5)))
    return place


def next_of(answer: Any) -> str | None:
    """Return the target of the Link header."""
    found = re.fullmatch(r'<([^>]+)>; rel="?next"?', answer.headers.get("Link", ""))
    return found[1] if found else None


def walk(place: Place, url: str) -> list[str]:
    """Return the sources of a list, following its links."""
    sources: list[str] = []
    following: str | None = url
    while following:
        answer = place.root.ask("GET", following, 200)
        sources += [item["source"] for item in answer.json()["items"]]
        following = next_of(answer)
    return sources


@pytest.mark.parametrize("tail", ["/version", *LISTS, "/versions/2/redirects", "/versions/2/pages"])
def test_a_client_that_has_it_gets_304(three: Place, tail: str) -> None:
    full = three.ask("GET", tail, 200)
    etag = full.headers["ETag"]
    for given in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        answer = three.ask("GET", tail, 304, headers={"If-None-Match": given})
        assert answer.content == b""
        for name in ("ETag", "X-Project-Version", "X-Publish-Number", "Cache-Control"):
            assert answer.headers[name] == full.headers[name]
    three.ask("HEAD", tail, 304, headers={"If-None-Match": etag})
    for given in ('"other"', "garbage", '"' + etag.strip('"')[:-1] + '"'):
        assert three.ask("GET", tail, 200, headers={"If-None-Match": given}).content == full.content


@pytest.mark.parametrize("tail", ["/version", *LISTS])
def test_a_publish_invalidates_etags(three: Place, tail: str) -> None:
    before = three.ask("GET", tail, 200)
    three.published("/c")
    after = three.ask("GET", tail, 200, headers={"If-None-Match": before.headers["ETag"]})
    assert after.headers["ETag"] != before.headers["ETag"]
    assert after.headers["X-Publish-Number"] == "4"


def test_a_publish_elsewhere_changes_nothing_here(world: World, three: Place) -> None:
    before = three.ask("GET", "/version", 200)
    world.place(three.namespace, "other").published("/x")
    three.ask("GET", "/version", 304, headers={"If-None-Match": before.headers["ETag"]})


def test_what_is_published_names_its_version_everywhere(three: Place) -> None:
    version = three.get("/version")
    for tail in ("/version", *LISTS, "/redirects?limit=0", f"/redirects?version={version}"):
        headers = three.ask("GET", tail, 200).headers
        assert (headers["X-Project-Version"], headers["X-Publish-Number"]) == (version, "3")
    state = three.get("")
    assert (state["version"], state["publishNumber"], state["redirects"], state["pages"]) == (version, 3, 10, 1)


def test_answers_say_how_long_they_hold(three: Place) -> None:
    assert "immutable" in three.ask("GET", "/versions/2/redirects", 200).headers["Cache-Control"]
    assert "no-cache" in three.ask("GET", "/redirects", 200).headers["Cache-Control"]
    assert three.ask("GET", "/draft", 200).headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("limit", [1, 3, 5, 10, 11])
def test_links_lead_through_the_whole_list(three: Place, limit: int) -> None:
    expected = three.sources()
    assert walk(three, f"{three.path}/redirects?limit={limit}") == expected
    assert walk(three, f"{three.path}/versions/3/redirects?limit={limit}") == expected


def test_a_walk_never_mixes_two_versions(three: Place) -> None:
    before = three.sources()
    first = three.ask("GET", "/redirects?limit=4", 200)
    items = three.get("/draft/redirects", q="/a0")["items"]
    three.ask("DELETE", f"/draft/redirects/{items[0]['id']}", 204)
    three.published("/0-first")
    following = next_of(first)
    assert following
    rest = walk(three, following)
    assert [item["source"] for item in first.json()["items"]] + rest == before
    assert three.sources() != before


def test_there_is_no_link_where_nothing_follows(three: Place) -> None:
    for tail in ("/redirects", "/redirects?limit=10", "/redirects?limit=0", "/redirects?limit=5&offset=5", "/pages"):
        assert "Link" not in three.ask("GET", tail, 200).headers, tail


def test_any_version_can_be_read_by_number_sha_or_how_it_begins(three: Place) -> None:
    published = {item["publishNumber"]: item["version"] for item in three.get("/history")["items"]}
    expected = {1: 0, 2: 5, 3: 10}
    for number, sha in published.items():
        bodies = set()
        for word in (str(number), sha, sha[:7], sha[:20], sha.upper()):
            pinned = three.ask("GET", f"/redirects?version={word}", 200)
            named = three.ask("GET", f"/versions/{word}/redirects", 200)
            assert pinned.headers["X-Project-Version"] == named.headers["X-Project-Version"] == sha
            assert named.headers["X-Publish-Number"] == str(number)
            bodies |= {pinned.content, named.content}
        assert len(bodies) == 1
        assert three.get(f"/versions/{number}/redirects")["total"] == expected[number]
        assert three.get(f"/versions/{number}/pages")["total"] == (0 if number == 1 else 1)


@pytest.mark.parametrize("word", ["4", "99", "999999999999999999", "f" * 40, "0123456", "0"])
def test_a_version_that_was_never_published_is_404(three: Place, word: str) -> None:
    for tail in (f"/redirects?version={word}", f"/pages?version={word}", f"/versions/{word}/redirects"):
        three.refused("GET", tail, 404, "not_found")
    three.refused("GET", f"/history/{word}", 404, "not_found")
    three.refused(
        "POST",
        "/rollback",
        422 if word == "0" else 404,
        "invalid_body" if word == "0" else "not_found",
        json={"version": word},
    )


@pytest.mark.parametrize(
    "word", ["x", "", "-1", "1_0", "1.0", "%D9%A1", "abc", "HEAD", "release", "draft", "g" * 40, "1" * 41]
)
def test_what_cannot_name_a_version_is_refused(three: Place, word: str) -> None:
    answer = three.root.send("GET", f"{three.path}/redirects?version={word}")
    assert answer.status_code in ({400, 200} if not word else {400, 404}), describe(answer)
    if word:
        assert three.root.send("GET", f"{three.path}/versions/{word}/redirects").status_code in {400, 404}


def test_versions_of_another_project_do_not_count(world: World, three: Place) -> None:
    other = world.place(three.namespace, "other")
    sha = other.get("/version")
    three.refused("GET", f"/versions/{sha}/redirects", 404, "not_found")


def test_a_deleted_project_goes_on_where_its_numbers_ended(world: World, three: Place) -> None:
    three.refused("DELETE", "", 400, "confirmation_required")
    three.ask("DELETE", "?confirm=shop", 204)
    for tail in ("/version", *LISTS, "/versions/2/redirects", "/draft", "/history", ""):
        three.refused("GET", tail, 404, "not_found")
    again = world.place(three.namespace)
    assert again.get("")["publishNumber"] == 5
    assert again.get("/versions/3/redirects")["total"] == 10
    again.refused("GET", "/versions/4/redirects", 404, "not_found")


def test_unknown_names_are_404(world: World, three: Place) -> None:
    for path in (
        "/api/namespace/nowhere/project/shop/version",
        "/api/namespace/nowhere/projects",
        "/api/namespace/nowhere",
        f"{three.space}/project/nowhere/version",
        f"{three.space}/project/SHOP/version",
        f"{three.space}/project/nowhere/agents",
        f"{three.space}/project/nowhere/draft",
    ):
        world.root.refused("GET", path, 404, "not_found")
