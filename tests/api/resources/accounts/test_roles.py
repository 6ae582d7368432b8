"""Custom roles of an installation over HTTP, such as a role for one namespace."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.asgi import AsgiResponse, call, part
from tests.api.world import World, shaped, world

EDIT = {"namespace": "acme", "project": "shop", "resource": "redirect", "action": "write"}
READ = {"namespace": "acme", "project": "*", "resource": "project", "action": "read"}


@pytest.fixture
def here(tmp_path: Path) -> World:
    found = world(tmp_path)
    found.user("root", "admin")
    return found


@pytest.fixture
def admin(here: World) -> str:
    return here.access("root")


def body(name: str = "shop-editor", *grants: dict[str, str], **fields: Any) -> dict[str, Any]:
    return {"name": name, "grants": [*grants] or [EDIT], **fields}


def test_a_role_is_made_shown_replaced_and_removed(here: World, admin: str) -> None:
    answer = here.call("POST", "/api/roles", admin, body("shop-editor", EDIT, EDIT, description="Edits the shop."))
    made = shaped(answer, "role", 201)
    fields = {"name": "shop-editor", "description": "Edits the shop.", "builtIn": False, "grants": [EDIT]}
    assert made == {**fields, "etag": made["etag"]}
    assert answer.headers["location"] == "/api/role/shop-editor"
    assert shaped(here.call("GET", "/api/role/shop-editor", admin), "role") == made
    assert shaped(here.call("GET", "/api/roles", admin), "role-list")["items"][-1] == made
    changed = shaped(here.call("PUT", "/api/role/shop-editor", admin, {"grants": [READ]}), "role")
    assert changed == {**made, "description": "", "grants": [READ], "etag": changed["etag"]}
    assert here.call("DELETE", "/api/role/shop-editor", admin).status == 204
    for method, sent in (("GET", None), ("PUT", {"grants": [READ]}), ("DELETE", None)):
        assert here.call(method, "/api/role/shop-editor", admin, sent).error == "not_found"
    assert shaped(here.call("GET", "/api/role/viewer", admin), "role")["builtIn"] is True


def test_two_administrators_do_not_overwrite_each_other(here: World, admin: str) -> None:
    here.user("ada", "admin")
    ada, path = here.access("ada"), "/api/role/shop-editor"
    here.call("POST", "/api/roles", admin, body())
    seen = here.call("GET", path, admin)
    etag = shaped(seen, "role")["etag"]
    assert seen.headers["etag"] == f'"{etag}"'

    def put(token: str, sent: dict[str, Any], known: str) -> AsgiResponse:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "If-Match": known}
        return call(here.app, "PUT", path, headers, [part(json.dumps(sent).encode())])

    first = put(ada, {"grants": [EDIT, READ]}, f'"{etag}"')
    assert shaped(first, "role")["etag"] != etag
    late = put(admin, {"grants": [READ]}, f'"{etag}"')
    assert (late.status, late.error) == (412, "stale_role")
    assert shaped(here.call("GET", path, admin), "role")["grants"] == [EDIT, READ]
    shaped(put(admin, {"grants": [READ], "description": "Reads."}, first.headers["etag"]), "role")
    described = shaped(here.call("GET", path, admin), "role")["etag"]
    assert shaped(here.call("PUT", path, admin, {"grants": [READ]}), "role")["etag"] != described
    shaped(put(admin, {"grants": [EDIT]}, "*"), "role")
    assert (put(admin, {"grants": [READ]}, "unquoted").status, shaped(seen, "role")["etag"]) == (400, etag)


def test_a_role_that_changed_since_it_was_read_is_not_removed(here: World, admin: str) -> None:
    path = "/api/role/shop-editor"
    here.call("POST", "/api/roles", admin, body())
    seen = here.call("GET", path, admin).headers["etag"]
    now = here.call("PUT", path, admin, {"grants": [READ]}).headers["etag"]

    def remove(known: str) -> AsgiResponse:
        return call(here.app, "DELETE", path, {"Authorization": f"Bearer {admin}", "If-Match": known})

    late = remove(seen)
    assert (late.status, late.error) == (412, "stale_role")
    assert remove("unquoted").error == "bad_header"
    assert shaped(here.call("GET", path, admin), "role")["grants"] == [READ]
    assert remove(now).status == 204
    assert remove(now).error == "not_found"


def test_a_user_has_the_current_grants_of_their_role(here: World, admin: str) -> None:
    """A role applies in its namespace and project only, and never after its removal, even if it is created again."""
    assert here.call("POST", "/api/roles", admin, body()).status == 201
    here.user("ada", "shop-editor")
    access = here.access("ada")

    def held() -> list[Any]:
        found: list[Any] = shaped(here.call("GET", "/api/me", access), "me")["grants"]
        return found

    assert held() == [EDIT]
    assert here.call("PUT", "/api/role/shop-editor", admin, {"grants": [EDIT, READ]}).status == 200
    assert held() == [EDIT, READ]
    assert here.call("DELETE", "/api/role/shop-editor", admin).status == 204
    assert held() == []
    assert here.call("POST", "/api/roles", admin, body()).status == 201
    assert held() == []
    assert shaped(here.call("GET", "/api/user/2", admin), "user")["roles"] == []


def test_a_role_that_is_built_in_stays_as_it_is(here: World, admin: str) -> None:
    for name in ("viewer", "admin"):
        for method, sent in (("PUT", {"grants": [EDIT]}), ("DELETE", None)):
            answer = here.call(method, f"/api/role/{name}", admin, sent)
            assert (answer.status, answer.error) == (409, "built_in_role")
    assert here.call("POST", "/api/roles", admin, body()).status == 201
    for taken in ("viewer", "Viewer", "shop-editor", "SHOP-editor"):
        answer = here.call("POST", "/api/roles", admin, body(taken))
        assert (answer.status, answer.error) == (409, "already_exists")
        assert [each["pointer"] for each in answer.json()["problems"]] == ["/name"]


@pytest.mark.parametrize(
    ("sent", "pointer"),
    [
        (body("two words"), "/name"),
        (body("x" * 51), "/name"),
        (body("a", {**EDIT, "action": "publish"}), "/grants/0"),
        (body("a", EDIT, {**EDIT, "namespace": "*"}), "/grants/1"),
        (body("a", {"resource": "user", "action": "read", "namespace": "acme"}), "/grants/0"),
        (body("a", description="x" * 201), "/description"),
        (body("a", builtIn=True), "/builtIn"),
    ],
)
def test_an_invalid_role_is_refused_with_the_pointer(here: World, admin: str, sent: Any, pointer: str) -> None:
    answer = here.call("POST", "/api/roles", admin, sent)
    assert (answer.status, answer.error) == (422, "invalid_body")
    assert [problem["pointer"] for problem in answer.json()["problems"]] == [pointer]
    assert shaped(here.call("GET", "/api/roles", admin), "role-list")["total"] == 5


def test_no_one_creates_changes_or_removes_a_role_beyond_their_grants(here: World, admin: str) -> None:
    maker = {"resource": "role", "action": "write"}
    assert here.call("POST", "/api/roles", admin, body("maker", maker, EDIT)).status == 201
    assert here.call("POST", "/api/roles", admin, body("reader", READ)).status == 201
    here.user("mia", "maker")
    access = here.access("mia")
    assert here.call("POST", "/api/roles", access, body("own", EDIT)).status == 201
    for method, url, sent in (
        ("POST", "/api/roles", body("more", {**EDIT, "project": "*"})),
        ("PUT", "/api/role/own", {"grants": [READ]}),
        ("PUT", "/api/role/maker", {"grants": [maker, READ]}),
        ("PUT", "/api/role/reader", {"grants": [EDIT]}),
        ("DELETE", "/api/role/reader", None),
    ):
        answer = here.call(method, url, access, sent)
        assert (answer.status, answer.error) == (403, "grant_not_held"), (method, url)
    assert here.call("GET", "/api/roles", access).status == 403
    machine = here.token("*:*")
    for method, url, sent in (
        ("POST", "/api/roles", body("more")),
        ("PUT", "/api/role/own", {"grants": [EDIT]}),
        ("DELETE", "/api/role/own", None),
    ):
        assert here.call(method, url, machine, sent).error == "forbidden"


def test_the_last_account_that_may_do_everything_keeps_the_role_that_says_so(here: World, admin: str) -> None:
    everything = {"resource": "*", "action": "*"}
    assert here.call("POST", "/api/roles", admin, body("owner", everything)).status == 201
    assert here.call("PATCH", "/api/user/1", admin, {"roles": ["owner"]}).status == 200
    for method, sent in (("PUT", {"grants": [EDIT]}), ("DELETE", None)):
        answer = here.call(method, "/api/role/owner", admin, sent)
        assert (answer.status, answer.error) == (409, "last_admin")
    here.user("second", "admin")
    assert here.call("DELETE", "/api/role/owner", admin).status == 204
    assert here.call("GET", "/api/roles", admin).status == 403


def test_what_is_done_to_roles_is_in_the_trail(here: World, admin: str) -> None:
    here.call("POST", "/api/roles", admin, body())
    here.call("PUT", "/api/role/shop-editor", admin, {"grants": [READ]})
    here.call("DELETE", "/api/role/shop-editor", admin)
    found = shaped(here.call("GET", "/api/audit", admin), "audit-list")["items"]
    lines = [
        (each["event"], each["subject"], each["detail"].get("grants")) for each in found if "role" in each["event"]
    ]
    assert lines[::-1] == [
        ("role_created", "shop-editor", ["redirect:write@acme/shop"]),
        ("role_changed", "shop-editor", ["project:read@acme/*"]),
        ("role_deleted", "shop-editor", None),
    ]
