"""Inspection of a state: test and lint."""

from typing import Any

import pytest

from tests.e2e.git import Clone
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


def put(item: dict[str, Any]) -> dict[str, Any]:
    """Return the change that adds a redirect."""
    return {"op": "put", "kind": "redirect", "item": item}


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


@pytest.mark.parametrize(
    ("url", "near"),
    [
        ("/OLD", [("/old", "/old", "it matches in lower case")]),
        ("/exact?a=1&b=2", [("/exact?a=1", "/exact?a=1", "it matches with the query string ?a=1")]),
        (
            "https://www.shop.example/OLD",
            [
                ("/old", "https://www.shop.example/old", "it matches in lower case"),
            ],
        ),
        ("/nothing", []),
    ],
)
def test_a_url_that_nothing_answers_has_the_rules_that_nearly_match(rules: Place, url: str, near: list[Any]) -> None:
    found = ask(rules, url)["near"]
    assert [(each["rule"]["source"], each["url"], each["why"]) for each in found] == near
    for each in found:
        assert each["at"] is None
        assert ask(rules, each["url"])["rule"] == each["rule"]
        assert rules.get(f"/draft/redirects/{each['id']}")["source"] == each["rule"]["source"]


def test_a_page_nearly_matches_too_and_an_answer_has_no_near_misses(rules: Place) -> None:
    (near,) = ask(rules, "/robots.txt/")["near"]
    assert (near["rule"], near["page"]["path"]) == (None, "/robots.txt")
    assert "near" not in ask(rules, "/old")
    assert "near" not in ask(rules, "/\x00")


def near_elsewhere(place: Place, url: str, at: str, **more: Any) -> list[tuple[str | None, str]]:
    """Return the state and the reason of each near miss."""
    return [(each["at"], each["why"]) for each in ask(place, url, at=at, **more)["near"]]


def test_a_rule_of_the_other_state_is_a_near_miss_with_what_became_of_it(place: Place) -> None:
    place.published("/a")
    place.published("/b")
    place.add("/r", "/t", type="REGEX")
    place.publish()
    items = {each["source"]: each for each in place.get("/draft/redirects")["items"]}
    host = {"type": "BASIC_HOST", "source": "h.e/b", "target": "https://h.e/new"}
    place.ask("DELETE", f"/draft/redirects/{items['/a']['id']}", 204)
    place.ask("PATCH", f"/draft/redirects/{items['/b']['id']}", 200, json=host)
    place.ask("PATCH", f"/draft/redirects/{items['/r']['id']}", 200, json={"type": "BASIC"})
    place.add("/c")
    assert near_elsewhere(place, "/x/r", "draft") == [("published", "the draft changes it")]
    assert near_elsewhere(place, "/c", "published") == [("draft", "it is in the draft, not published yet")]
    assert near_elsewhere(place, "/a", "draft") == [("published", "the draft removes it")]
    assert near_elsewhere(place, "/b", "draft") == [
        ("published", "the draft removes it"),  # another source is another rule
        (None, "it matches on the host h.e"),
    ]
    assert near_elsewhere(place, "/c", "1") == []  # of the published state and the draft only
    assert near_elsewhere(place, "/a", "draft", changes=[put(redirect("/x", "/y"))]) == []


def test_a_rule_that_was_published_or_removed_since_the_draft_began_says_so(place: Place) -> None:
    place.published("/old")
    place.add("/mine")
    rule = next(each for each in place.get("/draft/redirects")["items"] if each["source"] == "/old")
    place.ask("DELETE", f"/draft/redirects/{rule['id']}?draft=other", 204)
    place.ask("POST", "/draft/redirects?draft=other", 201, json=redirect("/new", "/t"))
    place.ask("POST", "/publish?draft=other", 200, json={"message": "Another draft"})
    assert near_elsewhere(place, "/new", "draft") == [("published", "it was published after the draft began")]
    assert near_elsewhere(place, "/old", "published") == [("draft", "a publish removed it after the draft began")]


def test_a_named_draft_is_looked_into_by_its_name(place: Place) -> None:
    place.published("/a")
    place.ask("POST", "/draft/redirects?draft=autumn", 201, json=redirect("/leaf", "/t"))
    for query, found in (("?draft=autumn", [("draft", "it is in the draft autumn, not published yet")]), ("", [])):
        result = place.ask("POST", f"/test{query}", 200, json={"urls": ["/leaf"]}).json()["results"][0]
        assert [(each["at"], each["why"]) for each in result["near"]] == found


@pytest.mark.parametrize("url", ["/a", "/nothing"])
@pytest.mark.parametrize("at", ["published", "draft", "1"])
def test_the_name_of_a_draft_is_checked_whatever_the_urls_get(place: Place, url: str, at: str) -> None:
    place.published("/a")
    place.refused("POST", "/test?draft=a%20b", 400, "bad_parameter", json={"urls": [url], "at": at})


def test_who_may_not_see_drafts_gets_no_rule_of_one(place: Place) -> None:
    place.published("/a")
    place.add("/secret")
    reader = place.holder(("redirect", "read"))
    assert near_elsewhere(reader, "/secret", "published") == []
    assert near_elsewhere(reader, "/a/", "published") == [(None, "it matches without the slash at the end")]


@pytest.mark.parametrize(
    ("at", "grants"),
    [
        ("published", []),
        ("published", [("redirect", "write")]),
        ("draft", [("redirect", "write")]),
        ("draft", [("project", "read")]),
    ],
)
def test_who_may_not_read_pages_gets_no_page_of_a_test(place: Place, at: str, grants: list[tuple[str, str]]) -> None:
    """Neither a page that answers, nor one that loses, ends a chain or nearly matches; its status stays."""
    place.add_page("/hidden.txt")
    place.publish()
    place.add("/to", "/hidden.txt")
    place.publish()
    place.add("/other")
    place.add_page("/hidden-draft.txt")
    urls = ["/hidden.txt", "/to", "/hidden.txt/", "/Hidden.TXT", "/hidden-draft.txt", "/hidden-draft.txt/"]
    request = {"json": {"urls": urls, "at": at}}
    answer = place.holder(("redirect", "read"), *grants).ask("POST", "/test", 200, **request)
    found = {each["url"]: each for each in answer.json()["results"]}
    assert [found[url]["status"] for url in urls[:4]] == [200, 301, None, None]
    assert [(hop["status"], hop["page"]) for hop in found["/to"]["chain"]["hops"]] == [(301, None), (200, None)]
    assert "pages.yaml" not in answer.text
    assert "pages.yaml" in place.ask("POST", "/test", 200, **request).text


def test_who_may_read_pages_but_no_drafts_of_them_gets_those_published(place: Place) -> None:
    place.add_page("/hidden.txt")
    place.publish()
    place.add_page("/draft.txt")
    reader = place.holder(("redirect", "read"), ("redirect", "write"), ("page", "read"))
    assert ask(reader, "/hidden.txt/")["near"][0]["page"]["path"] == "/hidden.txt"
    for url in ("/draft.txt", "/draft.txt/"):
        assert near_elsewhere(reader, url, "published") == near_elsewhere(place, "/nothing", "published")
    assert [ask(reader, url, at="draft")["page"] for url in ("/hidden.txt", "/draft.txt")] == [None, None]
    assert ask(reader, "/draft.txt/", at="draft")["near"] == []


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
    published, draft = (place.get("/lint", at=at)["items"] for at in ("published", "draft"))
    assert {each["code"] for each in published} == {"chain", "regex_unanchored"}
    assert {each["severity"] for each in published} == {"warning"}
    assert all(each["file"] == "shop/redirects.yaml" and each["line"] for each in published)
    assert {each["code"] for each in draft} - {each["code"] for each in published} == {"redirect_loop"}
    assert place.get("/lint", at="1")["items"] == []
    place.refused("GET", "/lint?at=99", 404, "not_found")
    place.refused("GET", "/lint?at=nonsense", 404, "not_found")
    place.refused("GET", "/lint?at=a..b", 400, "bad_request")


@pytest.fixture(scope="module")
def linted(world: World, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Publish a project with 40 chains, 7 patterns that never answer, and a chain in a second file."""
    place = world.place()
    items = [redirect(f"/chain/{number}", "/next") for number in range(40)]
    items += [redirect(f"^/chain/{number}$", "/x", type="REGEX") for number in range(7)]
    place.ask("POST", "/draft/changes", 200, json=[put(item) for item in [*items, redirect("/next", "/end")]])
    place.publish()
    more = "redirects:\n  - {type: BASIC, source: /more, target: /next, status: FOUND}\n"
    Clone.of(place.repository, tmp_path_factory.mktemp("clone") / "clone").publish("shop/redirects/more.yaml", more)
    return place


COUNTS = [
    {"code": "chain", "severity": "warning", "count": 41},
    {"code": "regex_unreachable", "severity": "warning", "count": 7},
]


def test_lint_is_paged_with_counts_of_all_problems(linted: Place) -> None:
    whole = linted.get("/lint")
    assert (whole["total"], whole["limit"], whole["offset"], len(whole["items"])) == (48, 500, 0, 48)
    assert (whole["errors"], whole["warnings"], whole["neverAnswer"], whole["counts"]) == (0, 48, 7, COUNTS)
    pages = [linted.get("/lint", limit=20, offset=offset) for offset in (0, 20, 40, 60)]
    assert [len(page["items"]) for page in pages] == [20, 20, 8, 0]
    assert [item for page in pages for item in page["items"]] == whole["items"]
    assert [page["counts"] for page in pages] == [COUNTS] * 4
    assert whole["items"] == sorted(whole["items"], key=lambda item: (item["file"], item["line"]))


@pytest.mark.parametrize(
    ("wanted", "total"),
    [
        ({"code": "chain"}, 41),
        ({"code": "regex_unreachable,shadowed"}, 7),
        ({"code": "nonsense"}, 0),
        ({"severity": "warning"}, 48),
        ({"severity": "error"}, 0),
        ({"file": "shop/redirects/more.yaml"}, 1),
        ({"file": "shop/redirects"}, 1),
        ({"file": "shop"}, 48),
        ({"file": "sho"}, 0),
        ({"file": "shop/redirects.yaml", "code": "chain"}, 40),
    ],
)
def test_lint_can_be_filtered_and_counts_all_the_same(linted: Place, wanted: dict[str, str], total: int) -> None:
    found = linted.get("/lint", **wanted)
    assert (found["total"], len(found["items"]), found["counts"]) == (total, total, COUNTS)


def test_an_invalid_filter_of_lint_is_refused(linted: Place) -> None:
    linted.refused("GET", "/lint?severity=loud", 400, "bad_parameter")
    linted.refused("GET", "/lint?limit=-1", 400, "bad_parameter")
    linted.refused("GET", "/lint?codes=chain", 400, "bad_parameter")


def test_import_review_and_publish_count_the_rules_that_can_never_answer(place: Place) -> None:
    rows = "type\tsource\ttarget\tstatus\n" + "".join(
        f"BASIC\t/a/{number}\t/b\t301\nREGEX\t^/a/{number}$\t/c\t301\n" for number in range(5)
    )
    headers = {"Content-Type": "text/tab-separated-values"}
    planned = place.ask("POST", "/import?dryRun=true", 200, content=rows, headers=headers).json()
    done = place.ask("POST", "/import", 200, content=rows, headers=headers).json()
    assert (planned["neverAnswer"], done["neverAnswer"]) == (5, 5)
    draft, view = place.get("/draft"), place.get("/draft/diff")
    assert (draft["neverAnswer"], draft["problemsTotal"], len(draft["problems"])) == (5, 5, 5)
    assert view["impact"]["neverAnswer"] == {"appears": 5, "goes": 0}
    assert place.publish()["neverAnswer"] == 5
    first = place.get("/draft/redirects", q="^/a/0$")["items"][0]
    place.ask("DELETE", f"/draft/redirects/{first['id']}", 204)
    assert place.get("/draft/diff")["impact"]["neverAnswer"] == {"appears": 0, "goes": 1}
    assert place.publish()["neverAnswer"] == 4
    assert place.ask("POST", "/rollback", 200, json={"version": "2"}).json()["neverAnswer"] == 5
    assert place.get("/lint", code="regex_unreachable")["total"] == 5


def test_a_draft_with_many_problems_shows_the_errors_and_the_first_others(place: Place) -> None:
    items = [redirect(f"/c/{number:04}", "/next") for number in range(1010)]
    items += [redirect("/next", "/end"), redirect("/z/loop", "/z/loop")]
    place.ask("POST", "/draft/changes", 200, json=[put(item) for item in items])
    found = place.get("/draft")
    assert (found["problemsTotal"], len(found["problems"])) == (1011, 1000)
    assert [each["code"] for each in found["problems"][:2]] == ["redirect_loop", "chain"]
    assert place.get("/lint", at="draft", limit=1)["total"] == 1011


def test_urls_are_tested_with_changes_that_nothing_stores(place: Place) -> None:
    place.add("/a", "/b")
    place.add("/c", "/d")
    place.publish()
    place.add("/drafted", "/e")
    old = next(each for each in place.get("/draft/redirects")["items"] if each["source"] == "/a")
    head = place.get("/draft")["head"]
    changes = [
        {"op": "delete", "kind": "redirect", "id": old["id"]},
        {"op": "put", "kind": "redirect", "item": redirect("/moved", "/b", type="BASIC")},
        {"op": "put", "kind": "redirect", "item": redirect("/c", "/moved")},
        {"op": "put", "kind": "page", "item": page("/robots.txt")},
    ]
    urls = ["/a", "/moved", "/c", "/robots.txt", "/drafted"]
    for at, drafted in (("published", None), ("draft", "/e"), (2, None)):
        body = {"urls": urls, "at": at, "changes": changes}
        found = place.ask("POST", "/test", 200, json=body).json()["results"]
        assert [each["location"] for each in found] == [None, "/b", "/moved", None, drafted]
        assert [each["status"] for each in found][:4] == [None, 301, 301, 200]
        assert [hop["location"] for hop in found[2]["chain"]["hops"]] == ["/moved", "/b"]
        assert (found[1]["rule"]["file"], found[1]["rule"]["line"]) == ("", 0)
    assert place.get("/draft")["head"] == head
    assert place.sources() == ["/a", "/c"]


def test_invalid_changes_of_a_test_are_told_by_their_place(place: Place) -> None:
    place.published("/a")
    wrong = [{"op": "put", "kind": "redirect", "item": redirect("^/(", "/b", type="REGEX")}]
    found = place.ask("POST", "/test", 200, json={"urls": ["/a"], "changes": wrong}).json()
    assert (found["results"], found["problems"][0]["pointer"]) == ([], "/changes/0/item/source")
    missing = [{"op": "delete", "kind": "redirect", "source": "/missing"}]
    place.refused("POST", "/test", 404, "not_found", json={"urls": ["/a"], "changes": missing})
    many = [*missing] * 101
    place.refused("POST", "/test", 422, "invalid_body", json={"urls": ["/a"], "changes": many})
