"""Personal tokens at a real service: people who log in with a provider push with them, as themselves."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from api.auth.permissions.principal import OPERATOR
from tests.e2e.caller import Caller
from tests.e2e.openid import browsing, openid_service
from tests.e2e.test_git_policy import RULE, clone
from tests.e2e.world import Place, World, open_world
from tests.openid_provider import HostileProvider, hostile_provider
from tests.service import wait_until


def expiry() -> str:
    return (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%SZ")


def issue(person: Caller, **fields: object) -> Caller:
    """Return the holder of a new personal token."""
    body = {"name": "laptop", "expiresAt": expiry(), **fields}
    return Caller(person.http, person.ask("POST", "/api/me/tokens", 201, json=body).json()["token"])


@pytest.fixture(scope="module")
def provider() -> Iterator[HostileProvider]:
    with hostile_provider() as found:
        yield found


def test_who_came_by_openid_pushes_as_themselves(tmp_path: Path, provider: HostileProvider) -> None:
    with openid_service(tmp_path / "data", provider.issuer) as service, open_world(service) as world:
        world.user("admin")  # one account with all grants must be left
        place = world.place()
        with browsing(service) as browser:
            provider.claims["groups"] = ["ops"]
            session = browser.login(provider).json()
        person = Caller(world.http, session["tokens"]["accessToken"])
        grants = [{"namespace": place.namespace, "resource": "*", "action": "*"}]
        token = issue(person, grants=grants)
        work = clone(place, tmp_path / "work", token)
        work.commit("shop/redirects.yaml", RULE.format("/old", "/new"))
        assert work.push("HEAD:release")[0] == "Publish 2 of shop: 1 redirect added."
        newest = place.get("/history")["items"][0]
        assert f" <user-{session['user']['id']}@waypost.invalid>" in newest["publishedBy"]
        # The provider takes the role away: the token of the account loses it with the next look at the roles.
        world.services.accounts.change(OPERATOR, session["user"]["id"], {"roles": ["viewer"]})
        work.commit("shop/redirects.yaml", RULE.format("/old", "/newer"))
        assert work.git("fetch", "origin") == ""
        work.git("push", "origin", "HEAD:release", succeeds=False)


def test_a_push_under_way_is_refused_once_its_token_is_removed(world: World, place: Place, tmp_path: Path) -> None:
    ada = world.person("publisher")
    token = issue(ada, role="publisher")
    work = clone(place, tmp_path / "work", token)
    [shown] = ada.get("/api/me/tokens")["items"]
    work.commit("shop/redirects.yaml", RULE.format("/a", "/b"))
    ada.ask("DELETE", f"/api/me/token/{shown['id']}", 204)
    assert "Authentication failed" in work.git("push", "origin", "HEAD:release", succeeds=False)


def test_the_account_and_its_tokens_are_one_person_in_reviews(world: World) -> None:
    place = world.place(review="required")
    ada = world.person("publisher")
    place.as_(ada).add("/a")
    head = place.get("/draft")["head"]
    body = {"action": "approve", "head": head}
    refused = place.as_(issue(ada, role="publisher")).refused("POST", "/draft/review", 403, "own_change", json=body)
    assert refused["message"]
    kim = world.person("publisher")
    place.as_(issue(kim, role="publisher")).ask("POST", "/draft/review", 200, json=body)
    place.as_(ada).ask("POST", "/publish", 200)


def test_no_personal_token_lists_or_ends_sessions(world: World) -> None:
    ada, kim = world.person("admin"), world.person("viewer")
    token, machine = issue(ada, role="admin"), world.root
    for person in (ada, kim):
        path = f"/api/user/{person.get('/api/me')['id']}"
        [shown] = machine.get(f"{path}/sessions")["items"]  # the token of a machine may, with the grant
        assert ada.get(f"{path}/sessions")["total"] == 1
        assert token.refused("GET", f"{path}/sessions", 403, "forbidden")["message"].startswith("This needs a login")
        token.refused("DELETE", f"{path}/sessions", 403, "forbidden")
        token.refused("DELETE", f"{path}/session/{shown['id']}", 403, "forbidden")
        assert person.send("GET", "/api/me").is_success


def test_a_deactivated_account_loses_its_tokens_in_every_worker(world: World, place: Place) -> None:
    name = world.user("editor")
    ada = Caller(world.http, world.session(name)["accessToken"])
    token = issue(ada, role="editor")
    assert {place.as_(token).root.send("GET", "/api/me").status_code for _ in range(20)} == {200}
    admin = world.person("admin")
    admin.ask("PATCH", f"/api/user/{ada.get('/api/me')['id']}", 200, json={"active": False})
    assert {token.send("GET", "/api/me").status_code for _ in range(20)} == {401}


def test_a_webhook_of_a_personal_token_is_the_token_s(world: World, place: Place) -> None:
    admin = world.person("admin")
    token = issue(admin, role="admin")
    body = {"url": "https://hooks.example.com/x", "events": ["published"]}
    made = place.as_(token).root.ask("POST", f"{place.space}/webhooks", 201, json=body).json()
    assert made["onBehalfOf"] == "laptop"


def test_last_use_is_shown(world: World) -> None:
    ada = world.person("editor")
    token = issue(ada, role="editor")
    assert ada.get("/api/me/tokens")["items"][0]["lastUsedAt"] is None
    token.get("/api/me")
    wait_until(lambda: ada.get("/api/me/tokens")["items"][0]["lastUsedAt"] is not None, 60, "the use to be recorded")


def test_the_audit_trail_names_the_user_and_the_token_by_which(world: World) -> None:
    place = world.place()
    kim = world.person("admin")
    laptop = issue(kim, role="admin", name="laptop 2")
    number = next(each["id"] for each in kim.get("/api/me/tokens")["items"] if each["name"] == "laptop 2")
    made = laptop.ask("POST", f"{place.space}/webhooks", 201, json={"url": "https://hooks.example/"})
    root = place.root.ask("POST", f"{place.space}/webhooks", 201, json={"url": "https://hooks.example/"})
    kim.ask("POST", f"{place.space}/webhooks", 201, json={"url": "https://hooks.example/"})
    found = kim.get("/api/audit", event="webhook_created", namespace=place.namespace)["items"]
    by_session, by_root, by_laptop = found
    assert by_laptop["actor"] == {"kind": "user", "id": kim.get("/api/me")["id"], "name": kim.get("/api/me")["name"]}
    assert by_laptop["token"] == {"id": number, "name": "laptop 2"}
    assert (by_laptop["session"], by_laptop["request"]) == (None, made.headers["X-Request-Id"])
    assert by_root["token"] == {"id": by_root["actor"]["id"], "name": by_root["actor"]["name"]}
    assert by_root["request"] == root.headers["X-Request-Id"]
    assert (by_session["token"], len(by_session["session"])) == (None, 32)
