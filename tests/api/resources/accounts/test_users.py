"""Accounts over HTTP."""

from pathlib import Path

import pytest

from tests.api.world import PASSWORD, World, shaped, world

_READ = {"namespace": "*", "project": "*", "resource": "redirect", "action": "read"}


@pytest.fixture
def here(tmp_path: Path) -> World:
    found = world(tmp_path)
    found.user("root", "admin")
    found.user("ada", "viewer")
    return found


@pytest.fixture
def admin(here: World) -> str:
    return here.access("root")


def test_an_account_is_made_shown_changed_and_removed(here: World, admin: str) -> None:
    body = {"username": "bob", "password": PASSWORD, "roles": ["editor"], "firstname": "Bob"}
    answer = here.call("POST", "/api/users", admin, body)
    made = shaped(answer, "user", 201)
    assert made == {
        "id": 3,
        "username": "bob",
        "firstname": "Bob",
        "lastname": "",
        "active": True,
        "roles": ["editor"],
        "createdAt": "2026-11-20T12:00:00Z",
        "lastLoginAt": None,
    }
    assert answer.headers["location"] == "/api/user/3"
    here.clock.advance(seconds=90)
    here.login("bob")
    assert shaped(here.call("GET", "/api/user/3", admin), "user")["lastLoginAt"] == "2026-11-20T12:01:30Z"
    changed = shaped(here.call("PATCH", "/api/user/3", admin, {"lastname": "Builder", "active": False}), "user")
    assert (changed["lastname"], changed["active"], changed["roles"]) == ("Builder", False, ["editor"])
    assert here.call("DELETE", "/api/user/3", admin).status == 204
    assert here.call("GET", "/api/user/3", admin).error == "not_found"
    assert here.call("DELETE", "/api/user/3", admin).status == 404


def test_accounts_are_listed_in_windows(here: World, admin: str) -> None:
    found = shaped(here.call("GET", "/api/users", admin), "user-list")
    assert [user["username"] for user in found["items"]] == ["root", "ada"]
    assert (found["total"], found["limit"], found["offset"]) == (2, 500, 0)
    second = shaped(here.call("GET", "/api/users?limit=1&offset=1", admin), "user-list")
    assert [user["username"] for user in second["items"]] == ["ada"]
    assert (second["total"], second["limit"], second["offset"]) == (2, 1, 1)
    assert shaped(here.call("GET", "/api/users?limit=0", admin), "user-list")["items"] == []
    assert shaped(here.call("GET", f"/api/users?offset={2**63 - 1}", admin), "user-list")["items"] == []
    assert here.call("GET", "/api/users?limit=-1", admin).status == 400


@pytest.mark.parametrize(
    ("text", "found"),
    [("lovE", ["ada"]), ("Ada%20L", ["ada"]), ("ROOT%20", ["root"]), ("%C3%89m", ["root"]), ("_", []), ("%00", [])],
)
def test_accounts_are_searched_by_their_names(here: World, admin: str, text: str, found: list[str]) -> None:
    here.call("PATCH", "/api/user/2", admin, {"firstname": "Ada", "lastname": "Lovelace"})
    here.call("PATCH", "/api/user/1", admin, {"firstname": "Émile", "lastname": "Roux"})
    answer = shaped(here.call("GET", f"/api/users?q={text}", admin), "user-list")
    assert [each["username"] for each in answer["items"]] == found
    assert answer["total"] == len(found)


def test_no_answer_holds_a_password_or_its_hash(here: World, admin: str) -> None:
    for url in ("/api/users", "/api/user/1", "/api/me"):
        body = here.call("GET", url, admin).body
        assert b"argon2" not in body
        assert b"password" not in body.lower()


@pytest.mark.parametrize("number", ["0", "-1", "1.0", "01", "x", "%D9%A3", "99999999999999999999", "2147483648", "3"])
def test_what_is_no_account_is_404(here: World, admin: str, number: str) -> None:
    for method, body in (("GET", None), ("PATCH", {"active": True}), ("DELETE", None)):
        answer = here.call(method, f"/api/user/{number}", admin, body)
        assert (answer.status, answer.error) == (404, "not_found")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"username": "ADA", "password": PASSWORD}, 409, "already_exists"),
        ({"username": "bob"}, 422, "invalid_body"),
        ({"username": "bob", "password": "short"}, 422, "invalid_body"),
        ({"username": "bob", "password": PASSWORD, "id": 1}, 422, "invalid_body"),
        ({"username": "bob", "password": PASSWORD, "active": True}, 422, "invalid_body"),
        ({"username": "bob", "password": PASSWORD, "roles": ["wizard"]}, 422, "invalid_body"),
        ({"username": "b b", "password": PASSWORD}, 422, "invalid_body"),
    ],
)
def test_an_account_that_cannot_be_is_refused(
    here: World, admin: str, body: dict[str, object], status: int, code: str
) -> None:
    answer = here.call("POST", "/api/users", admin, body)
    assert (answer.status, answer.error) == (status, code)
    assert shaped(here.call("GET", "/api/users", admin), "user-list")["total"] == 2


def test_the_last_admin_stays(here: World, admin: str) -> None:
    for method, body in (("DELETE", None), ("PATCH", {"active": False}), ("PATCH", {"roles": []})):
        answer = here.call(method, "/api/user/1", admin, body)
        assert (answer.status, answer.error) == (409, "last_admin")


def test_without_the_grant_the_answer_is_the_same_whether_or_not_an_account_exists(here: World) -> None:
    viewer = here.access("ada")
    answers = [here.call("GET", url, viewer) for url in ("/api/user/1", "/api/user/77", "/api/user/x", "/api/users")]
    assert {answer.status for answer in answers} == {403}
    assert len({answer.body for answer in answers}) == 1


def test_a_change_of_role_counts_from_the_next_request_on(here: World, admin: str) -> None:
    access = here.access("ada")
    assert here.call("GET", "/api/users", access).status == 403
    assert here.call("PATCH", "/api/user/2", admin, {"roles": ["admin"]}).status == 200
    assert here.call("GET", "/api/users", access).status == 200
    assert here.call("PATCH", "/api/user/2", admin, {"roles": ["viewer"]}).status == 200
    assert here.call("GET", "/api/users", access).status == 403


def test_a_removed_or_inactive_account_is_out_at_once(here: World, admin: str) -> None:
    access = here.access("ada")
    assert here.call("PATCH", "/api/user/2", admin, {"active": False}).status == 200
    assert here.call("GET", "/api/me", access).status == 401
    assert here.call("PATCH", "/api/user/2", admin, {"active": True}).status == 200
    assert here.call("GET", "/api/me", access).status == 401
    access = here.access("ada")
    assert here.call("GET", "/api/me", access).status == 200
    assert here.call("DELETE", "/api/user/2", admin).status == 204
    assert here.call("GET", "/api/me", access).status == 401


def test_who_am_i(here: World, admin: str) -> None:
    me = shaped(here.call("GET", "/api/me", here.access("ada")), "me")
    assert (me["kind"], me["id"], me["name"], me["roles"]) == ("user", 2, "ada", ["viewer"])
    assert {"namespace": "*", "project": "*", "resource": "redirect", "action": "read"} in me["grants"]
    machine = shaped(here.call("GET", "/api/me", here.token("page:read")), "me")
    assert machine == {
        "kind": "token",
        "id": 1,
        "name": "ci",
        "grants": [{"namespace": "*", "project": "*", "resource": "page", "action": "read"}],
    }
    assert shaped(here.call("GET", "/api/me", admin), "me")["grants"][0]["resource"] == "*"


def test_users_change_their_own_name_and_password(here: World) -> None:
    access = here.access("ada")
    assert shaped(here.call("PATCH", "/api/me", access, {"firstname": "Augusta"}), "me")["firstname"] == "Augusta"
    wrong = here.call("PATCH", "/api/me", access, {"newPassword": "another good one", "currentPassword": "x"})
    assert (wrong.status, wrong.error) == (403, "wrong_password")
    assert here.call("PATCH", "/api/me", access, {"newPassword": "another good one"}).status == 422
    assert here.call("PATCH", "/api/me", access, {"roles": ["admin"]}).status == 422
    body = {"newPassword": "another good one", "currentPassword": PASSWORD}
    assert here.call("PATCH", "/api/me", access, body).status == 200
    assert here.call("GET", "/api/me", access).status == 401
    assert here.services.logins.login("ada", "another good one")
    assert here.call("PATCH", "/api/me", here.token("*:*"), {"firstname": "x"}).status == 403


def test_roles_and_permissions_are_listed(here: World, admin: str) -> None:
    found = shaped(here.call("GET", "/api/roles", admin), "role-list")
    assert [role["name"] for role in found["items"]] == ["admin", "publisher", "editor", "viewer", "agent"]
    assert all(role["builtIn"] for role in found["items"])
    permissions = shaped(here.call("GET", "/api/permissions", here.access("ada")), "permissions")["permissions"]
    project = next(entry for entry in permissions if entry["resource"] == "project")
    assert project == {
        "resource": "project",
        "actions": ["read", "write", "review", "publish", "override"],
        "scope": "project",
    }
    assert {entry["resource"] for entry in permissions if entry["scope"] == "server"} == {
        "namespace",
        "user",
        "role",
        "token",
        "audit",
    }


@pytest.mark.parametrize("character", [chr(code) for code in (0x202A, 0x202E, 0x2066, 0x2069, 0x200E, 0x200F, 0x061C)])
def test_names_do_not_change_the_direction_of_text(here: World, admin: str, character: str) -> None:
    """Otherwise a name could show as another one, wherever it is listed."""
    name = f"Ada{character}ecalevoL"
    body = {"username": "bob", "password": PASSWORD}
    ada = here.access("ada")
    answers = [
        (here.call("POST", "/api/users", admin, {**body, "firstname": name}), "/firstname"),
        (here.call("POST", "/api/users", admin, {**body, "lastname": name}), "/lastname"),
        (here.call("PATCH", "/api/user/2", admin, {"firstname": name}), "/firstname"),
        (here.call("PATCH", "/api/me", ada, {"lastname": name}), "/lastname"),
        (here.call("POST", "/api/tokens", admin, {"name": name, "grants": [_READ]}), "/name"),
        (here.call("POST", "/api/users", admin, {**body, "username": name}), "/username"),
    ]
    for answer, pointer in answers:
        assert (answer.status, answer.error) == (422, "invalid_body")
        assert [problem["pointer"] for problem in answer.json()["problems"]] == [pointer]


@pytest.mark.parametrize("name", ["Zoë", "李", "محمد", "שרה", "O'Neill", "Anne Marie"])
def test_names_may_be_of_any_script(here: World, admin: str, name: str) -> None:
    body = {"username": "bob", "password": PASSWORD, "firstname": name}
    assert here.call("POST", "/api/users", admin, body).status == 201


@pytest.mark.parametrize(
    ("method", "path", "body", "faults"),
    [
        ("POST", "/api/users", {"roles": ["nope"]}, {"/username", "/password", "/roles/0"}),
        ("POST", "/api/users", {"username": "a b", "password": PASSWORD, "roles": ["nope"]}, {"/username", "/roles/0"}),
        ("POST", "/api/users", {"username": "", "password": "x" * 9, "roles": [7]}, {"/username", "/roles/0"}),
        ("PATCH", "/api/user/2", {"active": "no", "roles": ["viewer", "nope"]}, {"/active", "/roles/1"}),
        ("POST", "/api/roles", {"grants": [{**_READ, "action": "publish"}]}, {"/name", "/grants/0"}),
        ("PUT", "/api/role/viewers", {"description": 7, "grants": [{**_READ, "action": "publish"}]}, {"/description", "/grants/0"}),
    ],
)  # fmt: skip
def test_all_faults_of_an_account_or_role_are_named_at_once(
    here: World, admin: str, method: str, path: str, body: dict[str, object], faults: set[str]
) -> None:
    problems = shaped(here.call(method, path, admin, body), "error", 422)["problems"]
    assert len(problems) == len(faults)
    assert {each["pointer"] for each in problems} == faults
