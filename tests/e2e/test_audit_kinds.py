"""Each kind of action is in the audit trail, with who did it, from where, by which token or in which session, and when."""

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from api.auth.permissions.grants import everywhere
from api.db.audit import AuditEvent
from tests.e2e.caller import Caller
from tests.e2e.test_git_policy import RULE, clone
from tests.e2e.test_personal_tokens import issue
from tests.e2e.world import PASSWORD, Place, World
from tests.service import ROOT, wait_until

GRANT = {"namespace": "*", "project": "*", "resource": "redirect", "action": "read"}
HOOK = {"url": "https://hooks.example/"}
PATIENCE = 60.0


@dataclass(frozen=True)
class Doer:
    """Someone in the trail: the caller in a project, the actor, and the token that entries have."""

    place: Place
    actor: dict[str, Any]
    token: dict[str, Any] | None

    @property
    def caller(self) -> Caller:
        """The caller without a project."""
        return self.place.root


def review_and_publish(doer: Doer) -> set[str]:
    """Review the draft of another caller, publish it, and roll back."""
    other = doer.place.as_(doer.place.world.root)
    other.add("/theirs")
    for action in ("reject", "approve", "request"):
        head = other.get("/draft")["head"]
        doer.place.ask("POST", "/draft/review", 200, json={"action": action, "head": head})
    doer.place.publish()
    doer.place.ask("POST", "/rollback", 200, json={"version": 1})
    return {"draft_rejected", "draft_approved", "review_requested", "publish_requested", "rollback_requested"}


def push(doer: Doer, folder: Path) -> set[str]:
    """Push to `release`, push a proposal and merge it, push another and remove it, and push an API token, which the job of the push revokes."""
    work = clone(doer.place, folder, doer.caller)
    work.commit("shop/redirects.yaml", RULE.format("/pushed", "/b"))
    work.push("HEAD:release")
    work.commit("shop/redirects.yaml", RULE.format("/proposed", "/b"))
    work.push("HEAD:refs/heads/topic")
    [found] = doer.caller.get(f"{doer.place.space}/proposals")["items"]
    doer.caller.ask("POST", f"{doer.place.space}/proposal/{found['id']}/merge", 200)
    work.push("HEAD:refs/heads/gone")
    [gone] = doer.caller.get(f"{doer.place.space}/proposals")["items"]
    doer.caller.ask("DELETE", f"{doer.place.space}/proposal/{gone['id']}", 204)
    leaked = doer.place.world.token(everywhere("redirect:read"))
    work.commit("shop/redirects.yaml", f"# {leaked}\n" + RULE.format("/leaked", "/b"))
    work.push("HEAD:refs/heads/leak", succeeds=False)
    return {"push_requested", "branches_pushed", "merge_requested", "proposal_deleted", "authn_token_revoked"}


def change(doer: Doer) -> set[str]:
    """Create a project; change one in two ways, add a webhook, and delete the project."""
    other = {"name": "other", "review": "required"}
    doer.caller.ask("POST", f"{doer.place.space}/projects", 201, json=other)
    doer.caller.ask("PATCH", doer.place.space, 200, json={"description": "new"})
    doer.place.ask("PATCH", "", 200, json={"description": "new"})
    doer.place.ask("PATCH", "", 200, json={"review": "required"})
    doer.caller.ask("POST", f"{doer.place.space}/webhooks", 201, json=HOOK)
    doer.place.add("/unwanted")
    doer.place.ask("DELETE", "/draft", 204)
    doer.place.ask("DELETE", "?confirm=shop", 204)
    return {
        "project_created",
        "namespace_changed",
        "project_changed",
        "webhook_created",
        "draft_discarded",
        "project_deleted",
    }


def grant(doer: Doer) -> set[str]:
    """Create a role and an account, and change its roles; no token may do so."""
    unique = secrets.token_hex(4)
    doer.caller.ask("POST", "/api/roles", 201, json={"name": f"r-{unique}", "grants": [GRANT]})
    account = {"username": f"kim-{unique}", "password": PASSWORD, "roles": ["viewer"]}
    made = doer.caller.ask("POST", "/api/users", 201, json=account).json()
    doer.caller.ask("PATCH", f"/api/user/{made['id']}", 200, json={"roles": ["editor"]})
    return {"role_created", "user_created", "privilege_permissions_changed", "authn_token_created"}


def doers(world: World) -> dict[str, Doer]:
    """Return an administrator in a session and with a personal token, and an API token, each in a new project."""
    person, holder = world.person("admin"), Caller(world.http, world.token(everywhere("*:*")))
    own, user, token = issue(person, role="admin"), person.get("/api/me"), holder.get("/api/me")
    [personal] = person.get("/api/me/tokens")["items"]
    user, token, personal = ({"id": each["id"], "name": each["name"]} for each in (user, token, personal))
    return {
        "session": Doer(world.place().as_(person), {"kind": "user", **user}, None),
        "personal token": Doer(world.place().as_(own), {"kind": "user", **user}, personal),
        "API token": Doer(world.place().as_(holder), {"kind": "token", **token}, token),
    }


@pytest.mark.parametrize("kind", ["session", "personal token", "API token"])
def test_each_kind_is_recorded_with_who_where_by_what_and_when(
    world: World, everybody: dict[str, Doer], tmp_path: Path, kind: str
) -> None:
    doer, begin = everybody[kind], datetime.now(UTC).replace(microsecond=0)
    expected = review_and_publish(doer)
    # Git takes no access token of a session.
    expected |= grant(doer) if kind == "session" else push(doer, tmp_path / "work")
    expected |= change(doer)
    found = wait_until(partial(entries_of, world, doer, expected), PATIENCE, f"{expected} in the trail")
    for entry in found:
        assert entry["address"] == "127.0.0.1", entry
        assert (entry["session"] is not None) is (kind == "session"), entry
        assert entry["request"], entry
        is_earlier = entry["event"] == "authn_token_created"
        assert is_earlier or begin <= datetime.fromisoformat(entry["at"]) <= datetime.now(UTC), entry


def entries_of(world: World, doer: Doer, expected: set[str]) -> list[Any]:
    """Return the entries of someone with a token or without; none while an expected one is missing."""
    found = world.root.get("/api/audit", actor=doer.actor["name"], limit=1000)["items"]
    own = [each for each in found if each["actor"] == doer.actor and each["token"] == doer.token]
    events = {each["event"] for each in own}
    return [each for each in own if each["event"] in expected] if events >= expected else []


@pytest.fixture(scope="module")
def everybody(world: World) -> dict[str, Doer]:
    return doers(world)


def test_what_is_done_with_webhooks_and_accounts_is_recorded(world: World) -> None:
    place, admin = world.place(), world.person("admin")
    hook = place.root.ask("POST", f"{place.space}/webhooks", 201, json=HOOK).json()["id"]
    address = f"{place.space}/webhook/{hook}"
    place.root.ask("PATCH", address, 200, json={"events": ["published"]})
    place.root.ask("POST", f"{address}/rotate", 200, json={})
    place.root.ask("DELETE", address, 204)
    found = place.root.get("/api/audit", namespace=place.namespace)["items"]
    events = [each["event"] for each in found if each["event"].startswith("webhook_")]
    assert events == ["webhook_deleted", "webhook_secret_rotated", "webhook_changed", "webhook_created"]
    account = {"username": f"kim-{secrets.token_hex(4)}", "password": PASSWORD, "roles": []}
    number = admin.ask("POST", "/api/users", 201, json=account).json()["id"]
    admin.ask("PATCH", f"/api/user/{number}", 200, json={"firstname": "Kim"})
    admin.ask("DELETE", f"/api/user/{number}", 204)
    found = world.root.get("/api/audit", actor=admin.get("/api/me")["name"])["items"]
    events = [each["event"] for each in found if each["subject"] == account["username"]]
    assert events == ["user_deleted", "user_updated", "user_created"]


def test_a_rollback_is_recorded(world: World) -> None:
    place = world.place()
    place.published("/a")
    place.published("/b")
    place.ask("POST", "/rollback", 200, json={"version": 1})

    def entries() -> list[Any]:
        return world.root.get("/api/audit", event="release_rolled_back", namespace=place.namespace)["items"]  # type: ignore[no-any-return]  # JSON

    (entry,) = wait_until(entries, PATIENCE, "the rollback in the trail")
    assert (entry["actor"]["kind"], entry["project"]) == ("commit", "shop")


def test_a_test_names_each_event() -> None:
    """An event that no test has seen may be recorded nowhere."""
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py")]
    named = {
        event for event in AuditEvent for text in texts if f'"{event}"' in text or f"AuditEvent.{event.name}" in text
    }
    assert set(AuditEvent) == named


def test_logins_and_logouts_have_who_where_and_when(world: World) -> None:
    name = world.user("viewer")
    session = world.session(name)
    person = Caller(world.http, session["accessToken"])
    [listed] = person.get("/api/me/sessions")["items"]
    person.ask("POST", "/auth/logout", 204)
    found = world.root.get("/api/audit", actor=name)["items"]
    assert [(each["event"], each["subject"], each["address"], each["request"] is None) for each in found] == [
        ("authn_logout", name, "127.0.0.1", False),
        ("authn_login_success", name, "127.0.0.1", False),
    ]
    assert {each["session"] for each in found} == {listed["id"]}
    assert [each["detail"] for each in found] == [{}, {"by": "password"}]


def test_a_session_that_is_ended_is_named(world: World) -> None:
    name = world.user("viewer")
    own, other = (Caller(world.http, world.session(name)["accessToken"]) for _ in range(2))
    ended = next(each["id"] for each in own.get("/api/me/sessions")["items"] if not each["current"])
    own.ask("DELETE", f"/api/me/session/{ended}", 204)
    [entry] = world.root.get("/api/audit", actor=name, event="authn_sessions_ended")["items"]
    assert entry["detail"] == {"sessions": 1, "session": ended} != {"sessions": 1, "session": entry["session"]}
    other.ask("GET", "/api/me", 401)
