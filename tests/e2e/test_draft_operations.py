"""Revert, replacement and conflict resolution on a draft over HTTP, by two workers; refusals leave it unchanged."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.e2e.contract import describe
from tests.e2e.git import git
from tests.e2e.world import Place, page, redirect

NOTHING = {"added": 0, "changed": 0, "removed": 0}
UNKNOWN = "0" * 16
OTHER = "?draft=other"


def head(place: Place) -> Any:
    return place.get("/draft")["head"]


def changes(place: Place) -> Any:
    return place.get("/draft")["changes"]["redirects"]


def post(place: Place, tail: str, **body: Any) -> Any:
    return place.ask("POST", tail, 200, json=body).json()


def disagree(place: Place, *sources: str) -> list[Any]:
    """Change the targets of these redirects on both sides; return the conflicts."""
    place.published(*sources)
    ids = [item["id"] for item in place.get("/draft/redirects")["items"]]
    for id_ in ids:
        place.ask("PATCH", f"/draft/redirects/{id_}{OTHER}", 200, json={"target": "/release"})
        place.ask("PATCH", f"/draft/redirects/{id_}", 200, json={"target": "/draft"})
    place.ask("POST", f"/publish{OTHER}", 200, json={})
    found: list[Any] = place.get("/draft")["conflicts"]
    return found


def test_some_changes_are_reverted_and_the_last_one_ends_the_draft(place: Place) -> None:
    place.published("/a", "/b")
    a, b = (item["id"] for item in place.get("/draft/redirects")["items"])
    place.ask("PATCH", f"/draft/redirects/{a}", 200, json={"target": "/x"})
    place.ask("DELETE", f"/draft/redirects/{b}", 204)
    place.add("/c")
    before = head(place)
    found = post(place, "/draft/revert", ids=[a, b], head=before)
    assert found == {
        "head": head(place),
        "changes": {"redirects": {"added": 1, "changed": 1, "removed": 0}, "pages": NOTHING},
    }
    assert changes(place) == {"added": 1, "changed": 0, "removed": 0}
    (added,) = place.get("/draft/redirects", change="added")["items"]
    assert post(place, "/draft/revert", ids=[added["id"]])["head"] is None
    assert head(place) is None
    place.refused("DELETE", "/draft", 404, "not_found")


def test_a_replacement_is_previewed_in_windows_and_then_made_as_one_commit(place: Place) -> None:
    for number in range(5):
        place.add(f"/old/{number}", f"/shop/{number}", note="from the Shop")
    place.publish()
    body = {"find": "/shop/", "replace": "/store/", "fields": ["target", "note"]}
    preview = place.ask("POST", "/draft/replace?dryRun=true&limit=2&offset=4", 200, json=body).json()
    assert {name: preview[name] for name in ("total", "limit", "offset", "wrong", "head")} == {
        "total": 5,
        "limit": 2,
        "offset": 4,
        "wrong": 0,
        "head": None,
    }
    (item,) = preview["items"]
    assert (item["fields"], item["problems"]) == ({"target": {"old": "/shop/4", "new": "/store/4"}}, [])
    assert head(place) is None
    done = post(place, "/draft/replace", **body)
    assert done == {"head": head(place), "changes": {"redirects": {**NOTHING, "changed": 5}, "pages": NOTHING}}
    assert post(place, "/draft/replace", **body)["changes"]["redirects"] == NOTHING
    assert head(place) == done["head"]


def test_many_get_a_status_and_tags_or_are_removed_as_one_commit(place: Place) -> None:
    """Only what is set changes: an edit of another field in between is kept."""
    for number in range(3):
        place.add(f"/sale/{number}", tags=["old", "kept"])
    place.add("/other")
    place.add_page("/robots.txt")
    where = {"where": {"q": "/sale/"}}
    status = {"set": {"status": 307, "addTags": ["new", "kept"], "removeTags": ["old"]}, **where}
    preview = place.ask("POST", "/draft/replace?dryRun=true&limit=1", 200, json=status).json()
    assert (preview["total"], preview["items"][0]["fields"]) == (
        3,
        {
            "status": {"old": "MOVED_PERMANENT", "new": "TEMPORARY_REDIRECT"},
            "tags": {"old": ["old", "kept"], "new": ["kept", "new"]},
        },
    )
    first = place.get("/draft/redirects", q="/sale/0")["items"][0]["id"]
    place.ask("PATCH", f"/draft/redirects/{first}", 200, json={"target": "/between"})
    place.refused("POST", "/draft/replace", 409, "stale_draft", json={**status, "head": preview["head"]})
    post(place, "/draft/replace", **status)
    found = {item["source"]: item for item in place.get("/draft/redirects")["items"]}
    assert (found["/sale/0"]["target"], found["/sale/0"]["status"]) == ("/between", "TEMPORARY_REDIRECT")
    assert (found["/sale/2"]["tags"], found["/other"]["tags"]) == (["kept", "new"], [])
    both = {"set": {"addTags": ["x"]}, "kinds": ["redirect", "page"]}
    assert place.ask("POST", "/draft/replace?dryRun=true", 200, json=both).json()["total"] == 5
    before = head(place)
    done = post(place, "/draft/replace", remove=True, **where)
    assert [item["source"] for item in place.get("/draft/redirects")["items"]] == ["/other"]
    back = [{"op": "put", "kind": "redirect", "item": redirect("/sale/0")}]
    place.refused("POST", f"/draft/changes?head={before}", 409, "stale_draft", json=back)
    place.ask("POST", f"/draft/changes?head={done['head']}", 200, json=back)
    assert post(place, "/draft/replace", remove=True, kinds=["page"])["changes"]["pages"]["added"] == 0
    assert place.get("/draft/pages")["total"] == 0


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        ({"set": {}}, "/set"),
        ({"set": {"status": 301}, "remove": True}, ""),
        ({"set": {"status": 301}, "fields": ["target"]}, "/fields"),
        ({"remove": True, "find": "x"}, "/find"),
        ({"remove": False}, "/remove"),
        ({"set": {"status": 301}, "kinds": ["page"]}, "/set/status"),
    ],
)
def test_a_change_of_many_is_one_and_has_an_effect(place: Place, body: dict[str, Any], pointer: str) -> None:
    place.add("/a")
    before = head(place)
    found = place.ask("POST", "/draft/replace", 422, json=body).json()
    assert pointer in [problem.get("pointer", "") for problem in found["problems"]]
    assert head(place) == before


def test_a_regular_expression_replaces_by_groups_on_request(place: Place) -> None:
    place.add("/a", "/2023/summer", tags=["sale"])
    place.add("/b", "/2023/winter")
    place.add("/c", "/2023/autumn", status=302, tags=["sale"])
    body = {"find": "^/(20[0-9]+)/(.+)$", "replace": "/$2-$1", "regex": True, "where": {"tag": "sale", "status": 301}}
    assert post(place, "/draft/replace", **body)["changes"]["redirects"]["changed"] == 1
    targets = [item["target"] for item in place.get("/draft/redirects")["items"]]
    assert targets == ["/summer-2023", "/2023/winter", "/2023/autumn"]
    ids = [item["id"] for item in place.get("/draft/redirects")["items"]]
    post(place, "/draft/replace", find="/2023/", replace="/", ids=ids[1:2])
    assert [item["target"] for item in place.get("/draft/redirects")["items"]][1:] == ["/winter", "/2023/autumn"]


def test_sources_and_pages_are_replaced_too(place: Place) -> None:
    place.add("/a/1")
    place.add_page("/a/robots.txt", "Sitemap: https://a.example/\n")
    fields = {"fields": ["source", "path", "content"], "kinds": ["redirect", "page"]}
    post(place, "/draft/replace", find="/a", replace="/b", **fields)
    assert place.get("/draft/redirects")["items"][0]["source"] == "/b/1"
    found = place.get("/draft/pages")["items"][0]
    assert (found["path"], found["content"]) == ("/b/robots.txt", "Sitemap: https:/" + "/b.example/\n")


def test_a_replacement_that_makes_one_record_invalid_changes_none_and_names_it(place: Place) -> None:
    place.add("/a/1", "/x")
    place.add("/b/1", "/a/y")
    before = head(place)
    wrong = {"find": "/a", "replace": "", "fields": ["source", "target"]}
    preview = place.ask("POST", "/draft/replace?dryRun=true", 200, json={**wrong, "replace": " "}).json()
    assert (preview["total"], preview["wrong"], preview["head"]) == (2, 2, before)
    assert {each["code"] for each in preview["items"][1]["problems"]} >= {"target_character"}
    found = place.refused("POST", "/draft/replace", 422, "invalid_content", json={**wrong, "replace": " "})
    assert {(each["line"] > 0, each["message"][:6]) for each in found["problems"]} == {
        (True, '"/a/1"'),
        (True, '"/b/1"'),
    }
    same = {"find": "/a/", "replace": "/b/", "fields": ["source"]}
    found = place.refused("POST", "/draft/replace", 422, "invalid_content", json=same)
    assert [each["code"] for each in found["problems"]] == ["duplicate_source"]
    assert head(place) == before


def test_sources_may_change_places(place: Place) -> None:
    """Only the result is checked, not the steps: /a becomes /aa while /aa becomes /aaaa."""
    place.add("/a")
    place.add("/aa")
    post(place, "/draft/replace", find="a", replace="aa", fields=["source"])
    assert [item["source"] for item in place.get("/draft/redirects")["items"]] == ["/aa", "/aaaa"]


@pytest.mark.parametrize("pattern", ["a*", "$", "^", "x?", "()", r"\b"])
def test_a_pattern_that_matches_between_characters_is_refused(place: Place, pattern: str) -> None:
    place.add("/a", "/target")
    body = {"find": pattern, "replace": "-", "regex": True}
    found = place.refused("POST", "/draft/replace", 422, "invalid_content", json=body)
    assert "empty text" in found["message"]


def test_conflicts_are_resolved_one_by_one_and_stay_resolved(place: Place) -> None:
    first, second, third = disagree(place, "/a", "/b", "/c")
    found = post(place, "/draft/resolve", choices=[_take(second, "release")], head=head(place))
    assert (found["settled"], found["conflicts"], found["head"]) == (1, [first, third], head(place))
    assert place.get("/draft")["conflicts"] == [first, third]
    value = {"kind": "redirect", "id": third["id"], "field": "target", "value": "/third"}
    found = post(place, "/draft/resolve", choices=[_take(first, "draft"), value])
    assert (found["conflicts"], place.get("/draft")["conflicts"]) == ([], [])
    place.publish(head=found["head"])
    targets = {item["source"]: item["target"] for item in place.get("/redirects")["items"]}
    assert targets == {"/a": "/draft", "/b": "/release", "/c": "/third"}


def test_a_conflict_is_resolved_between_the_values_that_were_read(place: Place) -> None:
    """Guard: a publish of another project, or of another namespace's commit, does not count as one of this project."""
    [found] = disagree(place, "/a")
    seen = place.get("/draft")["release"]
    choices = [_take(found, "release")]
    place.root.ask("POST", f"{place.space}/projects", 201, json={"name": "other"})
    assert place.get("/draft")["release"] != seen
    place.ask("PATCH", f"/draft/redirects/{found['id']}?draft=theirs", 200, json={"target": "/unseen"})
    place.ask("POST", "/publish?draft=theirs", 200)
    folder = git(place.repository, "rev-parse", "release:shop")
    for release in (seen, "0" * 40, folder):
        place.refused("POST", "/draft/resolve", 409, "stale_version", json={"choices": choices, "release": release})
    assert [each["release"] for each in place.get("/draft")["conflicts"]] == ["/unseen"]
    now = place.get("/draft")["release"]
    place.root.ask("POST", f"{place.space}/projects", 201, json={"name": "another"})
    assert post(place, "/draft/resolve", choices=choices, release=now)["settled"] == 1


def test_the_review_view_shows_what_a_draft_does(place: Place) -> None:
    place.add("/a", "/b")
    place.add("/c", "/d")
    place.publish()
    a, _ = place.get("/draft/redirects")["items"]
    place.add("/b", "/end")
    place.ask("PATCH", f"/draft/redirects/{a['id']}", 200, json={"target": "/c"})
    found = place.get("/draft/diff", limit=1)
    assert (found["head"], found["total"], len(found["items"])) == (head(place), 2, 1)
    assert found["items"][0]["fields"]["target"] == {"old": "/b", "new": "/c"}
    appears = found["impact"]["appears"]
    assert [(each["code"], each["source"]) for each in appears["items"]] == [("chain", "/a")]
    assert found["impact"]["goes"] == {"items": [], "total": 0}
    told_of = [each["text"] for each in found["impact"]["answers"]["items"]]
    assert told_of == ["/a: 301 /b -> 301 /c", "/b: nothing -> 301 /end"]
    compared = {"from": "base", "to": "draft"}
    assert place.get("/diff", **compared, impact="true")["impact"] == found["impact"]
    assert "impact" not in place.get("/diff", **compared)
    place.ask("PATCH", f"/draft/redirects/{a['id']}", 200, json={"target": "/a"})
    loops = place.get("/draft/diff", offset=9)
    assert (loops["items"], loops["impact"]["appears"]["items"][0]["code"]) == ([], "redirect_loop")


def test_the_changes_of_a_draft_are_searched_and_filtered(place: Place) -> None:
    kept = place.add("/a", "/sale-of-2024")
    gone = place.add("/b", "/old", note="Spring SALE")
    place.publish()
    place.ask("PATCH", f"/draft/redirects/{kept['id']}", 200, json={"status": "FOUND"})
    place.ask("DELETE", f"/draft/redirects/{gone['id']}", 204)
    place.add("/sale", "/new")
    place.add_page("/sale.txt")

    def found(**asked: object) -> list[str]:
        shown = place.get("/draft/changes", **asked)
        assert shown["counts"]["redirects"] == {"added": 1, "changed": 1, "removed": 1}
        assert shown["total"] == len(shown["items"])
        return [each.get("source") or each["path"] for each in shown["items"]]

    assert found(q="sale") == ["/a", "/sale", "/b", "/sale.txt"]
    assert found(q="NEW") == ["/sale"]
    assert found(q="sale", change="added") == ["/sale", "/sale.txt"]
    assert found(change="removed") == ["/b"]
    page = place.get("/draft/changes", q="sale", limit=2, offset=2)
    assert (page["total"], [each["kind"] for each in page["items"]]) == (4, ["redirect", "page"])
    place.refused("GET", "/draft/changes", 400, "bad_parameter", params={"change": "moved"})


def test_the_review_view_hides_kinds_without_the_grant_to_read_them(place: Place) -> None:
    place.add("/a")
    place.add_page("/a", "hidden by the redirect")
    all_of_it = place.get("/draft/diff")
    assert all_of_it["impact"]["appears"]["items"][0]["code"] == "page_unreachable"
    assert all_of_it["impact"]["neverAnswer"] == {"appears": 1, "goes": 0}
    reader = place.holder(("project", "read"), ("page", "read"))
    found = reader.get("/draft/diff")
    assert reader.get("/diff", impact="true")["impact"] == found["impact"]
    assert [each["kind"] for each in found["items"]] == ["page"]
    assert found["counts"]["redirects"] == NOTHING
    assert found["impact"] == {
        **{name: {"items": [], "total": 0} for name in ("appears", "goes")},
        "answers": {"items": [], "total": 0, "complete": True},
        "neverAnswer": {"appears": 0, "goes": 0},
    }


def test_the_changes_of_a_draft_are_listed_as_the_review_view_has_them(place: Place) -> None:
    for source in ("/a", "/b", "/c"):
        place.add(source, "/old")
    place.publish()
    a, _, c = place.get("/draft/redirects")["items"]
    place.ask("PATCH", f"/draft/redirects/{a['id']}", 200, json={"target": "/changed"})
    place.ask("DELETE", f"/draft/redirects/{c['id']}", 204)
    place.add("/d", "/added")
    place.add_page("/robots.txt")
    view, found = place.get("/draft/diff"), place.get("/draft/changes")
    assert [(each["change"], each.get("source")) for each in found["items"]] == [
        ("changed", "/a"), ("added", "/d"), ("removed", "/c"), ("added", None),
    ]  # fmt: skip
    assert found == {name: view[name] for name in found}
    windows = [place.get("/draft/changes", limit=2, offset=offset)["items"] for offset in (0, 2, 4)]
    assert [each for window in windows for each in window] == view["items"]
    reader = place.holder(("project", "read"), ("page", "read"))
    assert [each["kind"] for each in reader.get("/draft/changes")["items"]] == ["page"]
    assert reader.get("/draft/changes")["total"] == 1
    place.ask("DELETE", "/draft", 204)
    none = place.get("/draft/changes")
    assert (none["head"], none["items"], none["total"]) == (None, [], 0)


def _take(conflict: Any, side: str) -> dict[str, Any]:
    return {name: conflict[name] for name in ("kind", "id", "field")} | {"take": side}


GONE = "f" * 40
REPLACE = {"find": "/new", "replace": "/x"}
CHOICE = {"kind": "redirect", "id": UNKNOWN, "field": "target", "take": "draft"}
BAD: list[tuple[str, Any, int, str]] = [
    ("/draft/revert", {"ids": [UNKNOWN]}, 404, "not_found"),
    ("/draft/revert", {"ids": [UNKNOWN], "head": GONE}, 409, "stale_draft"),
    ("/draft/revert", {"ids": ["A" * 16]}, 422, "invalid_body"),
    ("/draft/revert", {"ids": [1]}, 422, "invalid_body"),
    ("/draft/revert", {"ids": {}}, 422, "invalid_body"),
    ("/draft/revert?draft=a/b", {"ids": [UNKNOWN]}, 400, "bad_parameter"),
    ("/draft/revert?draft=", {"ids": [UNKNOWN]}, 400, "bad_parameter"),
    ("/draft/revert?draft=none", {"ids": [UNKNOWN]}, 404, "not_found"),
    ("/draft/replace", {**REPLACE, "ids": [UNKNOWN]}, 404, "not_found"),
    ("/draft/replace", {**REPLACE, "head": GONE}, 409, "stale_draft"),
    ("/draft/replace?dryRun=true", {**REPLACE, "head": GONE}, 409, "stale_draft"),
    ("/draft/replace?dryRun=yes", REPLACE, 400, "bad_parameter"),
    ("/draft/replace?dryRun=true&limit=-1", REPLACE, 400, "bad_parameter"),
    ("/draft/replace?draft=..", REPLACE, 400, "bad_parameter"),
    ("/draft/replace", {**REPLACE, "find": ""}, 422, "invalid_body"),
    ("/draft/replace", {**REPLACE, "find": "x" * 2049}, 422, "invalid_body"),
    ("/draft/replace", {**REPLACE, "fields": ["path"]}, 422, "invalid_body"),
    ("/draft/replace", {**REPLACE, "fields": ["status"]}, 422, "invalid_body"),
    ("/draft/replace", {**REPLACE, "kinds": ["rule"]}, 422, "invalid_body"),
    ("/draft/replace", {**REPLACE, "where": {"status": 200}}, 422, "invalid_body"),
    ("/draft/replace", {**REPLACE, "regex": True, "find": "("}, 422, "invalid_content"),
    ("/draft/replace", {**REPLACE, "regex": True, "find": "(?=a)"}, 422, "invalid_content"),
    ("/draft/replace", {**REPLACE, "regex": True, "replace": "$2"}, 422, "invalid_content"),
    ("/draft/resolve", {"choices": [CHOICE]}, 404, "not_found"),
    ("/draft/resolve", {"choices": [CHOICE], "head": GONE}, 409, "stale_draft"),
    ("/draft/resolve?draft=none", {"choices": [CHOICE]}, 404, "not_found"),
    ("/draft/resolve?draft=%00", {"choices": [CHOICE]}, 400, "bad_parameter"),
    ("/draft/resolve", {"choices": [{**CHOICE, "kind": "rule"}]}, 422, "invalid_body"),
    ("/draft/resolve", {"choices": [{**CHOICE, "take": "base"}]}, 422, "invalid_body"),
    ("/draft/resolve", {"choices": [{"kind": "file", "file": "shop/none.yaml", "take": "draft"}]}, 404, "not_found"),
    ("/draft/resolve", {"choices": CHOICE}, 422, "invalid_body"),
]


def test_bad_input_is_refused_and_leaves_the_draft_alone(place: Place) -> None:
    place.add("/a")
    before = head(place)
    for tail, body, status, code in BAD:
        answer = place.root.send("POST", place.path + tail, json=body)
        assert (answer.status_code, answer.json()["error"]) == (status, code), (tail, body, describe(answer))
    for tail in ("/draft/diff?draft=a.b", "/draft/diff?limit=x"):
        place.refused("GET", tail, 400, "bad_parameter")
    assert head(place) == before


def test_an_invalid_value_names_its_choice_and_resolves_nothing(place: Place) -> None:
    first, second = disagree(place, "/a", "/b")
    before = head(place)
    value = {"kind": "redirect", "id": second["id"], "field": "target", "value": "no path"}
    body = {"choices": [_take(first, "draft"), value]}
    found = place.refused("POST", "/draft/resolve", 422, "invalid_content", json=body)
    assert {each["pointer"] for each in found["problems"]} == {"/choices/1/value"}
    twice = {"choices": [_take(first, "draft"), _take(first, "release")]}
    place.refused("POST", "/draft/resolve", 422, "invalid_content", json=twice)
    assert (head(place), place.get("/draft")["conflicts"]) == (before, [first, second])


def test_each_call_needs_the_grants_of_what_it_changes(place: Place) -> None:
    place.add("/a")
    found = place.add_page("/p")
    reader, writer = (place.holder(("project", "read"), ("redirect", action)) for action in ("read", "write"))
    reader.refused("POST", "/draft/replace", 403, "forbidden", json=REPLACE)
    reader.ask("POST", "/draft/replace?dryRun=true", 200, json=REPLACE)
    writer.refused("POST", "/draft/replace", 403, "forbidden", json={**REPLACE, "kinds": ["page"], "fields": ["path"]})
    writer.refused("POST", "/draft/revert", 403, "forbidden", json={"ids": [found["id"]]})
    writer.refused("POST", "/draft/resolve", 403, "forbidden", json={"choices": [{**CHOICE, "kind": "page"}]})
    file = {"kind": "file", "file": "shop/project.yaml", "take": "draft"}
    writer.refused("POST", "/draft/resolve", 403, "forbidden", json={"choices": [file]})
    place.holder(("agent", "read")).refused("GET", "/draft/diff", 403, "forbidden")


def test_of_two_edits_of_one_head_one_is_refused(place: Place) -> None:
    """No edit is lost: of many edits with the same head exactly one succeeds each time."""
    made = place.add("/a", "/new")
    for round_ in range(3):
        at = head(place)
        bodies = [
            (
                "/draft/replace",
                {"find": place.get("/draft/redirects")["items"][0]["target"], "replace": f"/{round_}-{n}"},
            )
            for n in range(4)
        ]
        with ThreadPoolExecutor(4) as pool:
            calls = [
                pool.submit(place.root.send, "POST", place.path + tail, json={**body, "head": at})
                for tail, body in bodies
            ]
            answers = [call.result() for call in calls]
        codes = sorted(answer.status_code for answer in answers)
        assert codes == [200, 409, 409, 409]
        winner = next(answer.json()["head"] for answer in answers if answer.status_code == 200)
        assert head(place) == winner
    tail, etag = f"/draft/redirects/{made['id']}", {"If-Match": f'"{made["etag"]}"'}
    place.refused("PUT", tail, 412, "stale_item", json=redirect("/a", "/late"), headers=etag)


def test_pages_are_reverted_as_redirects_are(place: Place) -> None:
    place.add_page("/p", "one")
    place.publish()
    found = place.get("/draft/pages")["items"][0]
    place.ask("PUT", f"/draft/pages/{found['id']}", 200, json=page("/p", "two"))
    assert post(place, "/draft/revert", ids=[found["id"]])["head"] is None
    assert place.get("/draft/pages")["items"][0]["content"] == "one"
