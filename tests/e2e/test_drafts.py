"""Edits of a draft: one record or many, guarded by etags; every refusal names its problems and their places."""

from typing import Any

import pytest

from tests.e2e.contract import describe
from tests.e2e.world import Place, World, page, redirect

NOTHING = {"added": 0, "changed": 0, "removed": 0}


def test_a_redirect_is_made_read_replaced_changed_and_removed(place: Place) -> None:
    answer = place.ask("POST", "/draft/redirects", 201, json=redirect("/a", "/b", note="why", tags=["x", "y"]))
    made = answer.json()
    assert answer.headers["Location"] == f"{place.path}/draft/redirects/{made['id']}"
    assert (made["change"], made["note"], made["tags"], made["line"] > 0) == ("added", "why", ["x", "y"], True)
    assert answer.headers["ETag"] == f'"{made["etag"]}"'
    tail = f"/draft/redirects/{made['id']}"
    assert place.get(tail) == made
    replaced = place.ask("PUT", tail, 200, json=redirect("/a", "/c", status=302)).json()
    assert (replaced["target"], replaced["status"], replaced["note"], replaced["tags"]) == ("/c", "FOUND", "", [])
    changed = place.ask("PATCH", tail, 200, json={"target": "/d", "tags": ["z"]}).json()
    assert (changed["target"], changed["status"], changed["tags"]) == ("/d", "FOUND", ["z"])
    place.ask("DELETE", tail, 204)
    place.refused("GET", tail, 404, "not_found")
    assert place.get("/draft")["changes"]["redirects"] == NOTHING


def test_a_page_is_made_read_replaced_changed_and_removed(place: Place) -> None:
    body = "a\n\n  b\ttab \u00e9\u2028\r\nend, no newline"
    answer = place.ask("POST", "/draft/pages", 201, json=page("/robots.txt", body))
    tail = f"/draft/pages/{answer.json()['id']}"
    assert place.get(tail)["content"] == body
    assert place.ask("PUT", tail, 200, json=page("/robots.txt", "", contentType="XML")).json()["content"] == ""
    assert place.ask("PATCH", tail, 200, json={"content": body}).json()["contentType"] == "XML"
    place.publish()
    assert place.get("/pages")["items"] == [page("/robots.txt", body, contentType="XML")]
    place.ask("DELETE", tail, 204)
    place.publish()
    assert place.get("/pages")["total"] == 0


def test_an_id_survives_everything_but_a_new_source(place: Place) -> None:
    made = place.add("/a")
    tail = f"/draft/redirects/{made['id']}"
    assert place.ask("PATCH", tail, 200, json={"target": "/z"}).json()["id"] == made["id"]
    moved = place.ask("PATCH", tail, 200, json={"source": "/b"}).json()
    assert moved["id"] != made["id"]
    place.refused("GET", tail, 404, "not_found")
    assert place.get(f"/draft/redirects/{moved['id']}")["target"] == "/z"


def test_a_window_that_the_caller_has_is_not_sent_again(place: Place) -> None:
    """It is valid until the draft changes; another window, query or kind has another etag."""
    place.add("/a")
    tails = ("/draft/redirects", "/draft/redirects?limit=1", "/draft/redirects?q=a", "/draft/pages")
    etags = [place.ask("GET", tail, 200).headers["ETag"] for tail in tails]
    assert len(set(etags)) == len(tails)
    for tail, etag in zip(tails, etags, strict=True):
        answer = place.ask("GET", tail, 304, headers={"If-None-Match": f'"other", W/{etag}'})
        assert (answer.content, answer.headers["ETag"]) == (b"", etag)
    place.add("/b")
    assert place.ask("GET", tails[0], 200, headers={"If-None-Match": etags[0]}).json()["total"] == 2
    place.ask("DELETE", "/draft", 204)
    assert place.ask("GET", tails[0], 200, headers={"If-None-Match": etags[0]}).json()["total"] == 0


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_an_edit_of_an_older_state_is_refused(place: Place, method: str) -> None:
    made = place.add("/a")
    tail, body = f"/draft/redirects/{made['id']}", {} if method == "DELETE" else {"json": redirect("/a", "/mine")}
    newer = place.ask("PATCH", tail, 200, json={"target": "/theirs"})
    stale = {"If-Match": f'"{made["etag"]}"'}
    place.refused(method, tail, 412, "stale_item", headers=stale, **body)
    assert place.get(tail)["target"] == "/theirs"
    fresh = {"If-Match": newer.headers["ETag"]}
    place.ask(method, tail, 204 if method == "DELETE" else 200, headers=fresh, **body)


def test_if_match_is_one_etag_or_a_star(place: Place) -> None:
    tail = f"/draft/redirects/{place.add('/a')['id']}"
    place.ask("PATCH", tail, 200, json={"target": "/b"}, headers={"If-Match": "*"})
    for header in ("nonsense", 'W/"0123"', '"a", "b"'):
        place.refused("PATCH", tail, 400, "bad_header", json={"target": "/c"}, headers={"If-Match": header})


@pytest.mark.parametrize(
    ("tail", "first", "second", "code"),
    [
        ("/draft/redirects", redirect("/a"), redirect("/b"), "duplicate_source"),
        ("/draft/pages", page("/a"), page("/b"), "duplicate_path"),
    ],
)
def test_the_same_source_twice_is_409(place: Place, tail: str, first: Any, second: Any, code: str) -> None:
    made = place.ask("POST", tail, 201, json=first).json()
    other = place.ask("POST", tail, 201, json=second).json()
    found = place.refused("POST", tail, 409, code, json=first)
    assert [(each["code"], each["pointer"]) for each in found["problems"]] == [(code, f"/{code.split('_')[1]}")]
    moved = place.refused("PUT", f"{tail}/{other['id']}", 409, code, json=first)
    assert [each["pointer"] for each in moved["problems"]] == [each["pointer"] for each in found["problems"]]
    place.publish()
    place.refused("POST", tail, 409, code, json=first)
    assert place.get(f"{tail}/{made['id']}")["change"] is None


def test_a_rule_moves_to_the_file_that_is_named(place: Place) -> None:
    first, other = place.add("/a"), place.add("/b")
    moved = place.ask("PATCH", f"/draft/redirects/{first['id']}", 200, json={"file": "redirects/moved.yaml"}).json()
    assert moved["file"] == f"{place.project}/redirects/moved.yaml"
    assert place.get(f"/draft/redirects/{other['id']}")["file"] == other["file"]
    place.refused("PATCH", f"/draft/redirects/{first['id']}", 400, "bad_request", json={"file": "pages/x.yaml"})
    place.publish()
    assert {item["source"] for item in place.get("/redirects")["items"]} == {"/a", "/b"}


def test_a_draft_that_is_not_there_cannot_be_discarded(place: Place) -> None:
    place.refused("DELETE", "/draft", 404, "not_found")


WRONG = [
    (redirect("no-slash"), "missing_slash", "/source"),
    (redirect("/a", "bad target"), "bad_target", "/target"),
    (redirect("/a", "/with space"), "target_character", "/target"),
    (redirect("/a", "javascript:alert(1)"), "bad_scheme", "/target"),
    (redirect("https://shop.example/a", "https://x.example/", type="BASIC_HOST"), "has_scheme", "/source"),
    (redirect("shop.example/a", "/relative", type="BASIC_HOST"), "missing_scheme", "/target"),
    (redirect("(", "/b", type="REGEX"), "bad_regex", "/source"),
    (redirect("^/(?=a)", "/b", type="REGEX"), "bad_regex", "/source"),
    (redirect("^/(a)", "/$2", type="REGEX"), "unknown_group", "/target"),
    (redirect("/a\u0007b"), "control_character", "/source"),
    (redirect("/a", "/b\r\nSet-Cookie: x"), "control_character", "/target"),
]


@pytest.mark.parametrize(
    ("body", "code", "pointer"), WRONG, ids=[f"{code}-{at}" for at, (_, code, _) in enumerate(WRONG)]
)
def test_an_invalid_record_is_422_and_nothing_changes(place: Place, body: Any, code: str, pointer: str) -> None:
    found = place.ask("POST", "/draft/redirects", 422, json=body).json()
    assert (code, pointer) in {(each["code"], each["pointer"]) for each in found["problems"]}, found
    assert place.get("/draft")["head"] is None
    change = [
        {"op": "put", "kind": "redirect", "item": redirect("/right")},
        {"op": "put", "kind": "redirect", "item": body},
    ]
    place.ask("POST", "/draft/changes", 422, json=change)
    assert place.get("/draft")["head"] is None


SHAPES: list[tuple[Any, str, str]] = [
    ({}, "missing_field", "/type"),
    ([], "wrong_type", ""),
    (redirect("/a", extra=1), "unknown_field", "/extra"),
    (redirect("/a", status=303), "not_allowed", "/status"),
    (redirect("/a", status=True), "not_allowed", "/status"),
    (redirect("/a", type="EXACT"), "not_allowed", "/type"),
    (redirect("/a", tags="x"), "wrong_type", "/tags"),
    (redirect("/a", tags=[""] * 30), "too_long", "/tags"),
    (redirect("/a", note="x" * 2001), "too_long", "/note"),
    (redirect("/" + "x" * 9000), "too_long", "/source"),
    ({**redirect("/a"), "source": None}, "wrong_type", "/source"),
    (redirect("/a", file="../project.yaml"), "bad_format", "/file"),
    (redirect("/a", file="/etc/passwd.yaml"), "bad_format", "/file"),
]


@pytest.mark.parametrize(
    ("body", "code", "pointer"), SHAPES, ids=[f"{code}-{at}" for at, (_, code, _) in enumerate(SHAPES)]
)
def test_a_body_of_another_shape_is_422_with_the_place(place: Place, body: Any, code: str, pointer: str) -> None:
    found = place.ask("POST", "/draft/redirects", 422, json=body).json()
    assert found["error"] == "invalid_body"
    assert (code, pointer) in {(each["code"], each.get("pointer", "")) for each in found["problems"]}, found


def test_a_batch_is_one_commit(place: Place) -> None:
    removed = place.add("/removed")
    place.add("/kept")
    place.publish()
    changes = [
        {"op": "put", "kind": "redirect", "item": redirect("/one")},
        {"op": "put", "kind": "redirect", "item": redirect("/kept", "/elsewhere")},
        {"op": "put", "kind": "page", "item": page("/robots.txt")},
        {"op": "delete", "kind": "redirect", "id": removed["id"]},
    ]
    found = place.ask("POST", "/draft/changes", 200, json=changes).json()
    expected = {"redirects": {"added": 1, "changed": 1, "removed": 1}, "pages": {**NOTHING, "added": 1}}
    assert found["changes"] == expected
    report = place.get("/draft")
    assert (report["head"], report["changes"]) == (found["head"], expected)


def test_a_batch_can_name_what_goes_by_its_source(place: Place) -> None:
    place.add("/a")
    place.add_page("/p.txt")
    gone = [{"op": "delete", "kind": "redirect", "source": "/a"}, {"op": "delete", "kind": "page", "path": "/p.txt"}]
    place.ask("POST", "/draft/changes", 200, json=gone)
    assert place.get("/draft/redirects")["total"] == place.get("/draft/pages")["total"] == 0


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ({"op": "put", "kind": "redirect", "item": redirect("no-slash")}, 422),
        ({"op": "delete", "kind": "redirect", "source": "/nowhere"}, 404),
        ({"op": "delete", "kind": "page", "id": "0" * 16}, 404),
        ({"op": "delete", "kind": "page", "id": "xyz"}, 422),
        ({"op": "rename", "kind": "page", "id": "0" * 16}, 422),
        ({"op": "put", "kind": "redirect"}, 422),
        ({"op": "put", "kind": "page", "item": redirect("/a")}, 422),
    ],
)
def test_a_batch_is_all_or_nothing(place: Place, last: Any, status: int) -> None:
    head = place.ask("POST", "/draft/changes", 200, json=[put("/first")]).json()["head"]
    place.ask("POST", "/draft/changes", status, json=[put(f"/{number}") for number in range(50)] + [last])
    assert place.get("/draft")["head"] == head
    assert place.get("/draft/redirects")["total"] == 1


def put(source: str) -> dict[str, Any]:
    """Return a change that writes a redirect."""
    return {"op": "put", "kind": "redirect", "item": redirect(source)}


def test_a_batch_needs_the_write_grant_of_each_kind_in_it(place: Place) -> None:
    holder = place.holder(("redirect", "read"), ("redirect", "write"))
    holder.ask("POST", "/draft/changes", 200, json=[put("/a")])
    both = [put("/b"), {"op": "put", "kind": "page", "item": page("/p")}]
    holder.refused("POST", "/draft/changes", 403, "forbidden", json=both)
    assert place.get("/draft/redirects")["total"] == 1


@pytest.mark.parametrize(
    "word", ["zzzz", "0", "0x6a50dc8584134c7d", "G" * 16, "0" * 15, "0" * 17, "%20", "\u0661" * 16]
)
@pytest.mark.parametrize("tail", ["/draft/redirects", "/draft/pages"])
def test_what_is_no_id_is_404(place: Place, tail: str, word: str) -> None:
    bodies = {"GET": {}, "DELETE": {}, "PATCH": {"json": {"note": "x"}}}
    for method, body in bodies.items():
        place.refused(method, f"{tail}/{word}", 404, "not_found", **body)


def test_an_id_is_taken_as_it_was_given_and_in_no_other_spelling(place: Place) -> None:
    known = place.add("/a")["id"]
    for word in (known.upper(), f"0x{known}", f"0{known}", f"%20{known}", f"{known[:8]}_{known[8:]}"):
        if word != known:
            place.refused("DELETE", f"/draft/redirects/{word}", 404, "not_found")


def test_an_open_redirect_is_reported_in_the_draft_until_the_rule_is_fixed(place: Place) -> None:
    """The warning has its place and the URL of a visitor; a warning does not stop a publish."""
    made = place.add("^/old(.*)$", "https://shop.example$1", type="REGEX")
    for tail, items in (("/draft", "problems"), ("/lint?at=draft", "items")):
        (found,) = place.get(tail)[items]
        assert (found["code"], found["severity"], found["pointer"]) == (
            "open_redirect",
            "warning",
            "/redirects/0/target",
        )
        assert '"@evil.example"' in found["message"]
        assert (found["file"], found["line"] > 0) == ("shop/redirects.yaml", True)
    place.publish()
    place.ask("PATCH", f"/draft/redirects/{made['id']}", 200, json={"target": "https://shop.example/$1"})
    assert place.get("/draft")["problems"] == []


def test_the_report_of_a_draft(place: Place) -> None:
    empty = place.get("/draft")
    assert (empty["head"], empty["problems"], empty["conflicts"]) == (None, [], [])
    assert empty["changes"] == {"redirects": NOTHING, "pages": NOTHING}
    place.add("/a", "/b")
    place.add("/b", "/a")
    found = place.get("/draft")
    assert found["base"] == place.get("/version")
    assert {each["code"] for each in found["problems"]} == {"redirect_loop"}
    assert {(each["file"], each["line"] > 0) for each in found["problems"]} == {("shop/redirects.yaml", True)}
    assert found["changes"]["redirects"] == {**NOTHING, "added": 2}


def test_drafts_of_other_names_are_apart(place: Place) -> None:
    place.ask("POST", "/draft/redirects?draft=spring", 201, json=redirect("/spring"))
    assert place.get("/draft/redirects")["total"] == 0
    assert place.get("/draft/redirects?draft=spring")["total"] == 1
    place.ask("POST", "/publish?draft=spring", 200)
    assert place.sources() == ["/spring"]
    for name in ("", "a/b", "..", "a b", "x" * 51, "-é"):
        place.refused("GET", f"/draft?draft={name}", 400, "bad_parameter")


def test_a_draft_is_discarded_and_release_stays(place: Place) -> None:
    place.published("/a")
    place.add("/b")
    place.ask("DELETE", "/draft", 204)
    assert place.get("/draft")["head"] is None
    assert place.get("/draft/redirects")["total"] == 1


def test_a_draft_that_has_moved_since_it_was_read_is_not_discarded(place: Place) -> None:
    place.add("/a")
    head = place.get("/draft")["head"]
    place.add("/b")
    place.refused("DELETE", f"/draft?head={head}", 409, "stale_draft")
    assert place.get("/draft/redirects")["total"] == 2
    place.ask("DELETE", f"/draft?head={place.get('/draft')['head']}", 204)
    assert place.get("/draft")["head"] is None


def test_discarding_a_draft_needs_both_write_grants(place: Place) -> None:
    place.add("/a")
    place.holder(("redirect", "read"), ("redirect", "write")).refused("DELETE", "/draft", 403, "forbidden")


def test_the_working_state_is_filtered_and_sorted(place: Place) -> None:
    place.add("/gone")
    place.add("/b", "/zz", tags=["spring"], note="Campaign")
    place.add("/c", "/aa", status="FOUND")
    place.publish()
    gone = place.get("/draft/redirects", q="/gone")["items"][0]
    place.ask("DELETE", f"/draft/redirects/{gone['id']}", 204)
    place.add("^/r", "/x", type="REGEX")

    def shown(**query: str) -> list[str]:
        return [item["source"] for item in place.get("/draft/redirects", **query)["items"]]

    assert shown() == ["/b", "/c", "^/r", "/gone"]
    assert shown(q="CAMPAIGN") == shown(tag="spring") == ["/b"]
    assert shown(type="REGEX") == ["^/r"]
    assert shown(status="FOUND") == shown(status="302") == ["/c"]
    assert (shown(change="added"), shown(change="removed")) == (["^/r"], ["/gone"])
    assert shown(sort="-source") == ["^/r", "/gone", "/c", "/b"]
    assert shown(sort="target", status="301") == ["/gone", "^/r", "/b"]
    assert shown(limit="2", offset="1") == ["/c", "^/r"]
    assert (shown(source="/b"), shown(source="/gone"), shown(source="/")) == (["/b"], ["/gone"], [])
    assert (shown(source="/b", status="301"), shown(source="/b", status="302")) == (["/b"], [])


def test_the_working_state_names_the_commit_that_it_was_read_at(place: Place) -> None:
    for tail in ("/draft/redirects", "/draft/pages"):
        assert place.get(tail)["head"] is None
    place.add("/a")
    place.add_page("/robots.txt")
    assert place.get("/draft/redirects")["head"] == place.get("/draft/pages")["head"] == place.get("/draft")["head"]
    found = place.get("/draft/pages?path=/robots.txt")["items"]
    assert [each["path"] for each in found] == ["/robots.txt"]


@pytest.mark.parametrize(("kind", "field"), [("redirects", "source"), ("pages", "path")])
def test_an_empty_identity_is_refused(place: Place, kind: str, field: str) -> None:
    refused = place.ask("GET", f"/draft/{kind}?{field}=", 400).json()
    assert (refused["error"], refused["message"]) == ("bad_parameter", f"'{field}' is empty.")


@pytest.mark.parametrize("query", ["sort=up", "type=EXACT", "status=303", "status=x", "change=moved"])
def test_a_filter_that_cannot_be_is_400(place: Place, query: str) -> None:
    answer = place.root.send("GET", f"{place.path}/draft/redirects?{query}")
    assert answer.status_code == 400, describe(answer)


def test_a_new_rule_goes_to_the_file_that_was_named(place: Place) -> None:
    assert place.add("/a", file="redirects/spring.yaml")["file"] == "shop/redirects/spring.yaml"
    place.refused("POST", "/draft/redirects", 400, "bad_request", json=redirect("/b", file="pages.yaml"))


def test_settings_are_changed_by_who_may(world: World, place: Place) -> None:
    assert place.ask("PATCH", "", 200, json={"title": "The Shop"}).json()["title"] == "The Shop"
    editor = place.holder(("project", "read"), ("project", "write"))
    editor.refused("PATCH", "", 403, "forbidden", json={"title": "x"})
    publisher = place.holder(("project", "write"), ("project", "publish"))
    publisher.refused("PATCH", "", 403, "forbidden", json={"review": "optional"})
    place.refused("POST", "", 405, "method_not_allowed")
    for body, status in (({"name": "SHOP"}, 409), ({"name": "a b"}, 422), ({"name": ""}, 422), ({}, 422)):
        world.root.ask("POST", f"{place.space}/projects", status, json=body)
    for body, status in (({"name": place.namespace.upper()}, 409), ({"name": "a/b"}, 422), ({"name": ".."}, 422)):
        world.root.ask("POST", "/api/namespaces", status, json=body)


def test_a_namespace_is_described_and_archived(world: World, place: Place) -> None:
    assert world.root.ask("PATCH", place.space, 200, json={"description": "Ours"}).json()["description"] == "Ours"
    world.root.refused("DELETE", place.space, 400, "confirmation_required")
    world.root.refused("DELETE", f"{place.space}?confirm=other", 400, "confirmation_required")
    world.root.ask("DELETE", f"{place.space}?confirm={place.namespace}", 204)
    for path in (place.space, place.path, f"{place.path}/version"):
        world.root.refused("GET", path, 404, "not_found")
    world.root.ask("POST", "/api/namespaces", 201, json={"name": place.namespace})
    world.root.refused("GET", f"{place.path}/version", 404, "not_found")


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [("redirect", "source", "/nowhere"), ("page", "path", "/robots.txt"), ("redirect", "id", "0" * 16)],
)
def test_a_deletion_of_what_is_not_there_is_named_by_its_place_and_as_it_was_sent(
    place: Place, kind: str, field: str, value: str
) -> None:
    changes = [put("/a"), {"op": "delete", "kind": kind, field: value}]
    found = place.refused("POST", "/draft/changes", 404, "not_found", json=changes)
    (problem,) = found["problems"]
    assert (problem["code"], problem["pointer"]) == ("unknown_record", f"/1/{field}")
    for message in (problem["message"], found["message"]):
        assert f"no {kind} with the {field} '{value}'" in message
    assert place.get("/draft")["head"] is None


def test_every_invalid_record_of_a_list_is_named_by_its_place(place: Place) -> None:
    """The author of a hundred changes gets all their problems at once."""
    wrong = [redirect("/a"), redirect("/b", "/with space"), redirect("/c", "javascript:alert(1)")]
    changes = [{"op": "put", "kind": "redirect", "item": item} for item in wrong]
    found = place.refused("POST", "/draft/changes", 422, "invalid_content", json=changes)
    assert [problem["pointer"] for problem in found["problems"]] == ["/1/item/target", "/2/item/target"]
    assert place.get("/draft")["head"] is None


def test_null_clears_an_optional_field(place: Place) -> None:
    """A PATCH is a merge patch, RFC 7396: null removes a field; one that a record must have refuses it."""
    made = place.add("/a", note="why", tags=["x", "y"])
    tail = f"/draft/redirects/{made['id']}"
    changed = place.ask("PATCH", tail, 200, json={"note": None}).json()
    assert (changed["note"], changed["tags"]) == ("", ["x", "y"])
    changed = place.ask("PATCH", tail, 200, json={"tags": None, "target": "/b"}).json()
    assert (changed["tags"], changed["target"]) == ([], "/b")
    for field in ("type", "source", "target", "status", "file"):
        problem = place.refused("PATCH", tail, 422, "invalid_body", json={field: None})["problems"][0]
        assert problem["pointer"] == f"/{field}"
        assert problem["message"].endswith("not null")
    of_page = f"/draft/pages/{place.add_page('/p', note='why', tags=['x'])['id']}"
    changed = place.ask("PATCH", of_page, 200, json={"note": None, "tags": None}).json()
    assert (changed["note"], changed["tags"]) == ("", [])
    place.refused("PATCH", of_page, 422, "invalid_body", json={"content": None})


def test_null_clears_optional_fields_elsewhere(place: Place) -> None:
    """Settings of projects take their default, and descriptions and names are empty."""
    place.ask("PATCH", "", 200, json={"title": "T", "description": "D", "review": "required", "lint": "strict"})
    cleared = place.ask("PATCH", "", 200, json=dict.fromkeys(("title", "description", "review", "lint"))).json()
    fields = ("title", "description", "review", "lint")
    assert tuple(cleared[name] for name in fields) == (place.project, "", "optional", "normal")
    space = place.root.ask("PATCH", place.space, 200, json={"description": None}).json()
    assert space["description"] == ""
    person = place.world.person("admin")
    number = person.get("/api/me")["id"]
    for path in ("/api/me", f"/api/user/{number}"):
        person.ask("PATCH", path, 200, json={"firstname": "A", "lastname": "B"})
        found = person.ask("PATCH", path, 200, json={"firstname": None}).json()
        assert (found["firstname"], found["lastname"]) == ("", "B")
    person.refused("PATCH", f"/api/user/{number}", 422, "invalid_body", json={"active": None})
