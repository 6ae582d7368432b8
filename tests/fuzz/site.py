"""A service with content, a caller for each role, and the names and numbers of what exists."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from api.auth.permissions.grants import BUILT_IN_ROLES
from content.records.record import identity_id
from tests.e2e.caller import Caller
from tests.e2e.world import PASSWORD, Place, World, open_world, page, redirect
from tests.service import WAYPOST, running

ROLES = ("nobody", "agent", "viewer", "editor", "publisher", "admin")
PROJECT, SPARE = "shop", "spare"
_SETTINGS = {"WAYPOST_ACCESS_LIFETIME": "86400", "WAYPOST_WEBHOOK_RETRIES": "86400"}
_SPARES = 4


@dataclass(frozen=True, slots=True)
class Site:
    """A part of a service for one part of a run: tokens by role, and what exists.

    `known` has the values of parameters by their names, those of one operation by `operation.name`.
    """

    url: str
    tokens: dict[str, str]
    usernames: dict[str, str]
    known: dict[str, list[Any]]
    own: frozenset[str]
    """The ids of the callers' accounts, sessions and tokens: without them, all other calls are refused."""

    def log_in(self, role: str) -> str:
        """Return the token of a new session."""
        body = {"username": self.usernames[role], "password": PASSWORD}
        answer = httpx.post(f"{self.url}/auth/login", json=body, timeout=60)
        answer.raise_for_status()
        return str(answer.json()["tokens"]["accessToken"])


@contextmanager
def open_service(folder: Path) -> Iterator[World]:
    """Run a service; at the end, fail if its log has an unhandled exception."""
    with running(WAYPOST, folder / "data", _SETTINGS) as service, open_world(service) as world:
        yield world


def open_site(world: World, part: str) -> Site:
    """Create the content, the accounts and the tokens of a part of a run."""
    usernames = {role: world.user(role) for role in ROLES[2:]}
    tokens = {role: world.session(name)["accessToken"] for role, name in usernames.items()}
    known = _fill(world, f"acme-{part}", f"{SPARE}-{part}")
    admin = Caller(world.http, tokens["admin"])
    known |= _fill_account(admin, world.session(usernames["admin"]))
    own = set().union(*(_own_ids(Caller(world.http, token)) for token in tokens.values()))
    tokens["agent"] = world.token(BUILT_IN_ROLES["agent"][1])
    own |= {str(each["id"]) for each in admin.get("/api/tokens", limit=1000)["items"] if each["name"] == "e2e"}
    return Site(world.service.url, tokens, usernames, known, frozenset(own))


def _fill(world: World, namespace: str, spare: str) -> dict[str, list[Any]]:
    """Create what calls can be about; what they may delete or end has spares."""
    place = _fill_project(world, namespace)
    root, space = place.root, place.space
    root.ask("POST", "/api/namespaces", 201, json={"name": spare})
    root.ask("POST", f"{space}/projects", 201, json={"name": SPARE})
    commit = place.get("/version")
    proposal = root.ask("POST", f"{space}/proposals", 201, json={"branch": "feature/a", "project": PROJECT}).json()
    hook = {"url": "https://receiver.invalid/hook"}
    webhooks = [root.ask("POST", f"{space}/webhooks", 201, json=hook).json()["id"] for _ in range(_SPARES)]
    root.ask("POST", f"{space}/webhook/{webhooks[0]}/ping", 202)
    delivery = root.get(f"{space}/webhook/{webhooks[0]}/deliveries")["items"][0]["id"]
    return {
        "namespace": [namespace],
        "spare": [spare],
        "project": [PROJECT],
        "version": ["1", "2", commit],
        "from": ["1"],
        "to": ["2"],
        "at": ["published", "draft", "1"],
        "draft": ["main", "spring"],
        "source": ["/a"],
        "path": ["/a.txt"],
        "name": ["agent-1"],
        "confirm": [spare, SPARE],
        "delivery": [delivery],
        "head": [place.get("/draft")["head"]],
        "timeout": [0],
        "after": [0],
        "limit": [10],
        "offset": [0],
        "service": ["git-upload-pack"],
        "view": ["projects"],
        "redirects.id": [identity_id(source) for source in ("/a", "/b", "/c")],
        "pages.id": [identity_id("/a.txt"), identity_id("/b.txt")],
        "proposal.id": [proposal["id"]],
        "webhook.id": webhooks,
        **_fill_identity(world, spare),
    }


def _fill_project(world: World, namespace: str) -> Place:
    """Publish a project twice, and leave two drafts with changes; return it."""
    world.root.ask("POST", "/api/namespaces", 201, json={"name": namespace})
    place = world.place(namespace, PROJECT)
    for source in ("/a", "/b", "/c"):
        place.add(source)
    for path in ("/a.txt", "/b.txt"):
        place.add_page(path)
    place.publish()
    for draft in ("main", "spring"):
        place.ask("POST", f"/draft/redirects?draft={draft}", 201, json=redirect(f"/in-{draft}"))
        place.ask("POST", f"/draft/pages?draft={draft}", 201, json=page(f"/in-{draft}.txt"))
    for number in range(_SPARES):
        agent = {"name": f"agent-{number}", "type": "default", "version": 2}
        place.ask("POST", "/agents", 200, json=agent)
    return place


def _fill_identity(world: World, spare: str) -> dict[str, list[Any]]:
    """Create accounts, roles and tokens that may be changed and deleted; return their numbers and names."""
    root = world.person("admin")
    users = [world.user("viewer") for _ in range(_SPARES)]
    sessions = [world.session(username) for username in users[:2]]
    numbers = {user["username"]: user["id"] for user in root.get("/api/users", limit=1000)["items"]}
    seen = root.get(f"/api/user/{numbers[users[0]]}/sessions")["items"]
    grants = [{"resource": "redirect", "action": "read"}]
    role = {"name": spare, "grants": grants}
    root.ask("POST", "/api/roles", 201, json=role)
    token = {"name": "spare", "grants": grants}
    tokens = [root.ask("POST", "/api/tokens", 201, json=token).json()["id"] for _ in range(_SPARES)]
    return {
        "user.id": [numbers[username] for username in users],
        "session": [session["id"] for session in seen],
        "role.name": [spare],
        "token.id": tokens,
        "username": users,
        "refreshToken": [session["refreshToken"] for session in sessions],
    }


def _fill_account(own: Caller, other: dict[str, Any]) -> dict[str, list[Any]]:
    """Create personal tokens, and name another session, of the caller's own account."""
    expires = (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
    fields = {"name": "spare", "expiresAt": expires, "role": "viewer"}
    tokens = [own.ask("POST", "/api/me/tokens", 201, json=fields).json()["id"] for _ in range(_SPARES)]
    sessions = [each["id"] for each in own.get("/api/me/sessions")["items"] if not each["current"]]
    return {"me_token.id": tokens, "me_session.id": sessions, "spare_access": [other["accessToken"]]}


def _own_ids(caller: Caller) -> set[str]:
    sessions = caller.get("/api/me/sessions")["items"]
    return {str(caller.get("/api/me")["id"]), *(each["id"] for each in sessions if each["current"])}
