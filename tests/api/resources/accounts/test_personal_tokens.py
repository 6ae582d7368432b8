"""Personal tokens over HTTP."""

from datetime import timedelta
from pathlib import Path

import pytest

from api.auth.permissions.grants import Grant, everywhere
from api.auth.permissions.principal import OPERATOR
from api.auth.tokens.new_token import NewToken
from api.auth.tokens.personal_tokens import MAX_TOKENS
from api.errors import Forbidden
from tests.api.world import START, World, shaped, world

SOON = "2026-12-20T12:00:00Z"
EDIT = {"resource": "redirect", "action": "write"}
READ = {"resource": "redirect", "action": "read"}
ADA = 2


@pytest.fixture
def here(tmp_path: Path) -> World:
    found = world(tmp_path)
    found.user("root", "admin")
    found.user("ada", "editor")
    return found


@pytest.fixture
def ada(here: World) -> str:
    return here.access("ada")


def made(here: World, login: str, **fields: object) -> str:
    body = {"name": "laptop", "grants": [EDIT], "expiresAt": SOON, **fields}
    return str(shaped(here.call("POST", "/api/me/tokens", login, body), "token-created", 201)["token"])


def held(here: World, value: str) -> list[str]:
    me = shaped(here.call("GET", "/api/me", value), "me")
    return [f"{each['resource']}:{each['action']}@{each['namespace']}/{each['project']}" for each in me["grants"]]


def problem(here: World, login: str, **fields: object) -> str:
    body = {"name": "laptop", "grants": [EDIT], "expiresAt": SOON, **fields}
    return str(shaped(here.call("POST", "/api/me/tokens", login, body), "error", 422)["problems"][0]["message"])


def test_a_personal_token_is_its_owner_with_a_part_of_the_grants(here: World, ada: str) -> None:
    value = made(here, ada, grants=[{**EDIT, "namespace": "acme"}])
    me = shaped(here.call("GET", "/api/me", value), "me")
    assert (me["kind"], me["id"], me["username"]) == ("user", ADA, "ada")
    assert held(here, value) == ["redirect:write@acme/*"]
    [shown] = shaped(here.call("GET", "/api/me/tokens", ada), "token-list")["items"]
    assert (shown["owner"], shown["createdBy"]) == ({"id": ADA, "username": "ada"}, "ada")
    assert value.encode() not in here.call("GET", "/api/me/tokens", ada).body


def test_nobody_gives_a_token_grants_that_they_lack(here: World, ada: str) -> None:
    for fields in ({"grants": [{"resource": "user", "action": "write"}]}, {"grants": [EDIT], "role": "admin"}):
        body = {"name": "laptop", "expiresAt": SOON, **fields}
        assert shaped(here.call("POST", "/api/me/tokens", ada, body), "error", 403)["error"] == "grant_not_held"


def test_a_personal_token_always_expires_within_the_setting(here: World, ada: str, tmp_path: Path) -> None:
    without = here.call("POST", "/api/me/tokens", ada, {"name": "laptop", "grants": [EDIT]})
    assert shaped(without, "error", 422)["problems"][0]["message"] == "'expiresAt' is missing"
    assert here.call("POST", "/api/me/tokens", ada, {"name": "x", "grants": [EDIT], "expiresAt": None}).status == 422
    assert problem(here, ada, expiresAt="2029-01-01T00:00:00Z") == (
        "A personal token must expire within 366 days. Use an earlier time."
    )
    assert "in the past" in problem(here, ada, expiresAt="2026-11-20T12:00:00Z")
    strict = world(tmp_path, personal_token_lifetime=3600)
    assert "within 0.0416667 days" in problem(strict, ada)
    value = made(here, ada, expiresAt="2026-11-20T12:10:00Z")
    assert here.call("GET", "/api/me", value).status == 200
    here.clock.advance(minutes=10)
    assert here.call("GET", "/api/me", value).status == 401


def test_all_faults_of_a_new_personal_token_are_named_at_once(here: World, ada: str) -> None:
    faults = {
        (("name", ""), ("expiresAt", "2029-01-01T00:00:00Z")): {"/name", "/expiresAt", "/grants"},
        (("name", "x"), ("expiresAt", "2029-01-01T00:00:00Z"), ("role", "nope")): {"/expiresAt", "/role"},
        (("role", "nope"),): {"/name", "/expiresAt", "/role"},
    }
    for body, pointers in faults.items():
        answer = shaped(here.call("POST", "/api/me/tokens", ada, dict(body)), "error", 422)
        assert sorted(each["pointer"] for each in answer["problems"]) == sorted(pointers)


def test_what_the_account_loses_the_token_loses_at_once(here: World, ada: str) -> None:
    value, accounts = made(here, ada, grants=[READ, EDIT]), here.services.accounts
    assert held(here, value) == ["redirect:read@*/*", "redirect:write@*/*"]
    accounts.change(OPERATOR, ADA, {"roles": ["viewer"]})
    assert held(here, value) == ["redirect:read@*/*"]
    accounts.change(OPERATOR, ADA, {"roles": []})
    assert held(here, value) == []
    accounts.change(OPERATOR, ADA, {"roles": ["editor"]})
    assert held(here, value) == ["redirect:read@*/*", "redirect:write@*/*"]


def test_a_grant_that_narrows_to_one_namespace_narrows_the_token(here: World, ada: str) -> None:
    value = made(here, ada, role="editor", grants=[EDIT])
    here.services.roles.create(OPERATOR, "acme", "", [Grant("acme", "*", "redirect", "write")])
    here.services.accounts.change(OPERATOR, ADA, {"roles": ["acme"]})
    assert held(here, value) == ["redirect:write@acme/*"]


@pytest.mark.parametrize("end", ["deactivate", "remove"])
def test_a_personal_token_ends_with_the_account(here: World, ada: str, end: str) -> None:
    value = made(here, ada)
    assert here.call("GET", "/api/me", value).status == 200
    if end == "remove":
        here.services.accounts.remove(OPERATOR, ADA)
    else:
        here.services.accounts.change(OPERATOR, ADA, {"active": False})
    assert here.call("GET", "/api/me", value).status == 401
    if end == "deactivate":
        here.services.accounts.change(OPERATOR, ADA, {"active": True})
        assert here.call("GET", "/api/me", value).status == 401  # it does not come back
    revoked = shaped(here.call("GET", "/api/audit?event=authn_token_revoked", here.access("root")), "audit-list")
    assert revoked["items"][0]["detail"] == {"id": 1, "owner": "ada", "reason": "the account of its owner ended"}


def test_a_personal_token_cannot_do_what_needs_a_login(here: World) -> None:
    root = here.access("root")
    value = made(here, root, role="admin")
    body = {"name": "more", "grants": [READ], "expiresAt": SOON}
    for method, url, sent in (
        ("GET", "/api/me/tokens", None),
        ("POST", "/api/me/tokens", body),
        ("DELETE", "/api/me/token/1", None),
        ("POST", "/api/me/token/1/rotate", None),
        ("GET", "/api/me/sessions", None),
        ("DELETE", "/api/me/sessions", None),
        ("DELETE", "/api/user/1/sessions", None),
        ("PATCH", "/api/me", {"firstname": "Mallory"}),
        ("PATCH", "/api/user/1", {"password": "another long one"}),
        ("DELETE", "/api/user/2", None),
        ("POST", "/api/users", {"username": "eve", "password": "another long one", "roles": []}),
        ("POST", "/api/roles", {"name": "mine", "description": "", "grants": [READ]}),
        ("POST", "/api/tokens", {"name": "more", "grants": [READ]}),
        ("DELETE", "/api/token/1", None),
        ("POST", "/api/token/1/rotate", None),
    ):
        assert here.call(method, url, value, sent).status == 403, (method, url)
    assert here.call("POST", "/auth/logout", value).status == 401
    assert here.call("GET", "/api/me", root).status == 200


def test_a_token_of_another_person_is_none(here: World, ada: str) -> None:
    value, root = made(here, ada), here.access("root")
    assert shaped(here.call("GET", "/api/me/tokens", root), "token-list")["total"] == 0
    assert here.call("DELETE", "/api/me/token/1", root).status == 404
    assert here.call("POST", "/api/me/token/1/rotate", root).status == 404
    assert here.call("DELETE", "/api/me/token/999", ada).status == 404
    assert here.call("GET", "/api/me", value).status == 200


def test_an_administrator_may_remove_a_personal_token_and_never_sees_a_value(here: World, ada: str) -> None:
    value, root = made(here, ada), here.access("root")
    assert shaped(here.call("GET", "/api/token/1", root), "token")["owner"]["username"] == "ada"
    refused = shaped(here.call("POST", "/api/token/1/rotate", root), "error", 403)
    assert refused["message"] == "This is a personal token: only its owner can rotate it. You can remove it."
    assert here.call("DELETE", "/api/token/1", root).status == 204
    assert here.call("GET", "/api/me", value).status == 401


def test_its_owner_removes_and_rotates_a_token(here: World, ada: str) -> None:
    value = made(here, ada)
    rotated = shaped(here.call("POST", "/api/me/token/1/rotate", ada, {"overlap": 60}), "token-created")
    assert rotated["previousValidUntil"] == "2026-11-20T12:01:00Z"
    assert [here.call("GET", "/api/me", each).status for each in (value, rotated["token"])] == [200, 200]
    assert here.call("DELETE", "/api/me/token/1", ada).status == 204
    assert [here.call("GET", "/api/me", each).status for each in (value, rotated["token"])] == [401, 401]


def test_a_person_has_a_limited_number_of_tokens(here: World, ada: str) -> None:
    for _ in range(MAX_TOKENS):
        made(here, ada)
    body = {"name": "one more", "grants": [READ], "expiresAt": SOON}
    assert shaped(here.call("POST", "/api/me/tokens", ada, body), "error", 409)["error"] == "too_many_tokens"
    assert here.call("DELETE", "/api/me/token/7", ada).status == 204
    assert here.call("POST", "/api/me/tokens", ada, body).status == 201


def test_the_last_use_of_a_personal_token_is_its_own(here: World, ada: str) -> None:
    made(here, ada)
    made(here, ada)
    third = made(here, ada)
    here.call("GET", "/api/me", third)
    assert here.services.directory.take_uses() == {3: START}


def test_the_operator_issues_one_for_a_person_with_their_grants_alone(here: World) -> None:
    personal = here.services.personal_tokens()
    until = START + timedelta(days=1)
    issued = personal.create(OPERATOR, ADA, NewToken("robot", everywhere("redirect:write"), until))
    assert issued.token.owner == "ada"
    with pytest.raises(Forbidden, match="user:write"):
        personal.create(OPERATOR, ADA, NewToken("robot", everywhere("user:write"), until))
