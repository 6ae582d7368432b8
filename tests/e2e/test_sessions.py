"""Login, refresh and logout; API tokens, accounts and their permissions."""

import re
import secrets
import time
from datetime import UTC, datetime, timedelta

import jwt
import pytest

from tests.e2e.caller import Caller
from tests.e2e.world import PASSWORD, World
from tests.service import wait_until

READ = [{"namespace": "acme", "project": "shop", "resource": "redirect", "action": "read"}]


@pytest.fixture(scope="module")
def admin(world: World) -> Caller:
    """Return an administrator with a session."""
    return world.person("admin")


def test_a_login_gives_user_and_tokens(world: World) -> None:
    name = world.user("viewer")
    found = world.nobody.ask("POST", "/auth/login", 200, json={"username": name, "password": PASSWORD}).json()
    assert found["user"].keys() == {"id", "username", "firstname", "lastname"}
    assert (found["user"]["username"], found["user"]["firstname"]) == (name, "Ada")
    assert found["tokens"].keys() == {"accessToken", "refreshToken", "expiresAt"}
    assert abs(found["tokens"]["expiresAt"] - time.time() - 15 * 60) < 20
    claims = jwt.decode(found["tokens"]["accessToken"], options={"verify_signature": False})
    assert claims["exp"] == found["tokens"]["expiresAt"]


def test_a_wrong_password_and_a_missing_account_are_distinguished(world: World) -> None:
    name = world.user("viewer")
    for body, status, code in (
        ({"username": name, "password": "wrong horse battery"}, 401, "invalid_credentials"),
        ({"username": f"{name}-x", "password": PASSWORD}, 403, "user_not_exist"),
    ):
        found = world.nobody.refused("POST", "/auth/login", status, code, json=body)
        assert found.keys() == {"error", "message"}


def test_a_refresh_rotates_and_a_lost_reply_can_be_asked_again(world: World) -> None:
    first = world.session(world.user("viewer"))
    again = {"refreshToken": first["refreshToken"]}
    second, lost = (world.nobody.ask("POST", "/auth/refresh", 200, json=again).json() for _ in range(2))
    assert second == lost
    assert second["tokens"]["refreshToken"] != first["refreshToken"]
    assert Caller(world.http, second["tokens"]["accessToken"]).get("/api/me")["kind"] == "user"


def test_a_refresh_token_is_no_access_token_and_the_other_way_round(world: World) -> None:
    session = world.session(world.user("viewer"))
    world.nobody.refused("POST", "/auth/refresh", 401, "invalid_token", json={"refreshToken": session["accessToken"]})
    Caller(world.http, session["refreshToken"]).refused("GET", "/api/me", 401, "invalid_token")


def test_logout_ends_both_tokens(world: World) -> None:
    session = world.session(world.user("viewer"))
    caller = Caller(world.http, session["accessToken"])
    caller.ask("POST", "/auth/logout", 204)
    caller.refused("GET", "/api/me", 401, "invalid_token")
    body = {"refreshToken": session["refreshToken"]}
    world.nobody.refused("POST", "/auth/refresh", 401, "invalid_token", json=body)


def test_a_logout_ends_no_other_session(world: World) -> None:
    name = world.user("viewer")
    one, other = world.session(name), world.session(name)
    Caller(world.http, one["accessToken"]).ask("POST", "/auth/logout", 204)
    assert Caller(world.http, other["accessToken"]).get("/api/me")["name"] == name


def test_openid_is_off(world: World) -> None:
    assert world.nobody.ask("GET", "/auth/openid", 200).json() == {"enabled": False}
    world.nobody.refused("GET", "/auth/openid/callback?code=x&state=y", 404, "openid_disabled")


def test_a_token_is_shown_once_and_works_until_it_is_deleted(world: World, admin: Caller) -> None:
    answer = admin.ask("POST", "/api/tokens", 201, json={"name": "ci", "grants": READ})
    made = answer.json()
    assert re.fullmatch(r"svc_[0-9A-Za-z]{49}", made["token"])
    assert made["token"].startswith(made["preview"].rstrip(".…*"))
    location = answer.headers["Location"]
    assert "token" not in admin.get(location)
    assert all("token" not in item for item in admin.get("/api/tokens", limit=1_000_000)["items"])
    held = Caller(world.http, made["token"])
    assert held.get("/api/me")["grants"] == READ
    admin.ask("DELETE", location, 204)
    held.refused("GET", "/api/me", 401, "invalid_token")
    admin.refused("GET", location, 404, "not_found")


def test_a_token_ends_when_it_was_said_to(world: World, admin: Caller) -> None:
    soon = (datetime.now(UTC) + timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    made = admin.ask("POST", "/api/tokens", 201, json={"name": "ci", "grants": READ, "expiresAt": soon}).json()
    held = Caller(world.http, made["token"])
    wait_until(lambda: held.send("GET", "/api/me").status_code == 401, 15, "the token to expire")


def test_a_token_that_would_have_expired_already_is_refused(admin: Caller) -> None:
    body = {"name": "ci", "grants": READ, "expiresAt": "2020-01-01T00:00:00Z"}
    assert admin.ask("POST", "/api/tokens", 422, json=body).json()["problems"][0]["pointer"] == "/expiresAt"


def test_an_account_is_made_changed_and_removed(world: World, admin: Caller) -> None:
    name = f"grace-{secrets.token_hex(4)}"
    answer = admin.ask("POST", "/api/users", 201, json={"username": name, "password": PASSWORD, "roles": ["editor"]})
    location = answer.headers["Location"]
    taken = admin.refused("POST", "/api/users", 409, "already_exists", json={"username": name, "password": PASSWORD})
    assert taken["problems"][0]["pointer"] == "/username"
    session = world.session(name)
    grace = Caller(world.http, session["accessToken"])
    assert grace.get("/api/me")["roles"] == ["editor"]
    assert admin.ask("PATCH", location, 200, json={"roles": ["viewer"]}).json()["roles"] == ["viewer"]
    assert grace.get("/api/me")["roles"] == ["viewer"]
    admin.ask("PATCH", location, 200, json={"active": False})
    grace.refused("GET", "/api/me", 401, "invalid_token")
    admin.ask("DELETE", location, 204)
    admin.refused("GET", location, 404, "not_found")


def test_a_new_password_ends_the_sessions_of_the_old_one(world: World) -> None:
    name = world.user("viewer")
    caller = Caller(world.http, world.session(name)["accessToken"])
    body = {"currentPassword": "wrong horse battery", "newPassword": "a new horse battery"}
    caller.refused("PATCH", "/api/me", 403, "wrong_password", json=body)
    caller.ask("PATCH", "/api/me", 200, json={**body, "currentPassword": PASSWORD})
    caller.refused("GET", "/api/me", 401, "invalid_token")
    credentials = {"username": name, "password": "a new horse battery"}
    world.nobody.ask("POST", "/auth/login", 200, json=credentials)


def test_lists_of_identity_come_in_windows(world: World, admin: Caller) -> None:
    assert world.root.token
    for path in ("/api/users", "/api/tokens", "/api/roles"):
        whole = admin.get(path, limit=1_000_000)
        assert len(whole["items"]) == whole["total"]
        found = admin.get(path, limit=1, offset=whole["total"] - 1)
        assert (found["items"], found["total"]) == (whole["items"][-1:], whole["total"])
        assert admin.get(path, offset=2**63 - 1)["items"] == []


def test_secrets_are_never_in_the_log(world: World, admin: Caller) -> None:
    made = admin.ask("POST", "/api/tokens", 201, json={"name": "ci", "grants": READ}).json()["token"]
    Caller(world.http, made).ask("GET", f"/api/me?token={made}", 200)
    Caller(world.http, made).send("GET", f"/api/namespace/{made}/project/{made}/version")
    session = world.session(world.user("viewer"))
    log = world.service.log.read_text("utf-8")
    assert not [secret for secret in (PASSWORD, made, session["accessToken"], session["refreshToken"]) if secret in log]
