"""A service with an OpenID provider, a signing key and content, a caller for each role, and the names of what exists."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from api.auth.permissions.grants import BUILT_IN_ROLES
from content.records.record import identity_id
from tests.api.signing import make_key
from tests.e2e.caller import Caller
from tests.e2e.openid import Browser, browsing, settings
from tests.e2e.world import PASSWORD, Place, World, open_world, page, redirect
from tests.openid_provider import HostileProvider, hostile_provider
from tests.service import WAYPOST, Service, running

ROLES = ("nobody", "agent", "viewer", "editor", "publisher", "admin")
PROJECT, SPARE = "shop", "spare"
BEGUN = "begun"
"""In place of the state of a login, or a logout token, which are of the moment that they are sent in."""
_OF_PROVIDER = "viewer"  # signs in at the OpenID provider; all others by password
_SETTINGS = {"ACCESS_LIFETIME": "86400", "WEBHOOK_RETRIES": "86400", "OPENID_TIMEOUT": "30"}
_SPARES = 4


@dataclass(frozen=True, slots=True)
class Site:
    """A part of a service for one part of a run: its callers by role, and what exists.

    `tokens` are those of their sessions, `git_tokens` what they give to Git. `known` has the values of parameters by their
    names, those of one operation by `operation.name`.
    """

    service: Service
    provider: HostileProvider
    part: str
    tokens: dict[str, str]
    git_tokens: dict[str, str]
    usernames: dict[str, str]
    known: dict[str, list[Any]]
    own: frozenset[str]
    """The callers' accounts, sessions and tokens, as `user 1`: without them, all other calls are refused."""

    def log_in(self, role: str) -> str:
        """Return the token of a new session."""
        with browsing(self.service) as browser:
            return _log_in(browser, self.provider, self.part, self.usernames.get(role, ""))

    def open_browser(self, role: str) -> dict[str, str]:
        """Return the cookies of a new session in a browser."""
        with browsing(self.service) as browser:
            if role in self.usernames:
                body = {"username": self.usernames[role], "password": PASSWORD}
                browser.send("POST", "/auth/session", json=body).raise_for_status()
            else:
                _set_person(self.provider, self.part)
                browser.login(self.provider, "text/html")
            return dict(browser.http.cookies)

    def begin_login(self) -> tuple[str, dict[str, str]]:
        """Begin a login at the provider; return its state, and the cookies of its browser."""
        with browsing(self.service) as browser:
            browser.begin()
            _set_person(self.provider, self.part, "sid-fuzz")
            self.provider.nonce = browser.nonce
            return browser.state, dict(browser.http.cookies)


@contextmanager
def open_service(folder: Path) -> Iterator[tuple[World, HostileProvider]]:
    """Run a service with an OpenID provider and a key; at the end, fail if its log has an unhandled exception."""
    key = make_key(folder / "signing-key")
    with hostile_provider() as provider:
        env = settings(provider.issuer, **_SETTINGS, SIGNING_KEY=str(key))
        with running(WAYPOST, folder / "data", env) as service, open_world(service) as world:
            yield world, provider


def open_site(world: World, provider: HostileProvider, part: str) -> Site:
    """Create the content, the accounts and the tokens of a part of a run."""
    usernames = {role: world.user(role) for role in ROLES[2:] if role != _OF_PROVIDER}
    tokens = {role: world.session(name)["accessToken"] for role, name in usernames.items()}
    with browsing(world.service) as browser:
        tokens[_OF_PROVIDER] = _log_in(browser, provider, part)
    known = _fill(world, f"acme-{part}", f"{SPARE}-{part}") | {"iss": [provider.issuer]}
    admin = Caller(world.http, tokens["admin"])
    known |= _fill_account(admin, world.session(usernames["admin"]))
    made = {role: _make_git_token(Caller(world.http, token), role) for role, token in tokens.items()}
    own = set().union(*(_own_ids(Caller(world.http, token)) for token in tokens.values()))
    own |= {f"token {each['id']}" for each in made.values()}
    git_tokens = {role: str(each["token"]) for role, each in made.items()}
    tokens["agent"] = git_tokens["agent"] = world.token(BUILT_IN_ROLES["agent"][1])
    own |= {f"token {each['id']}" for each in admin.get("/api/tokens", limit=1000)["items"] if each["name"] == "e2e"}
    return Site(world.service, provider, part, tokens, git_tokens, usernames, known, frozenset(own))


def _log_in(browser: Browser, provider: HostileProvider, part: str, username: str = "") -> str:
    """Log in by password, or without a name at the provider; return the access token."""
    if username:
        answer = browser.send("POST", "/auth/login", json={"username": username, "password": PASSWORD})
    else:
        _set_person(provider, part)
        answer = browser.login(provider)
    answer.raise_for_status()
    return str(answer.json()["tokens"]["accessToken"])


def _set_person(provider: HostileProvider, part: str, session: str = "sid-own") -> None:
    """Let a person of the part be at the provider, in a session there."""
    provider.subject = f"{_OF_PROVIDER}-{part}"
    provider.claims.update(groups=["readers"], preferred_username=provider.subject, sid=f"{session}-{part}")


def _make_git_token(caller: Caller, role: str) -> dict[str, Any]:
    """Create a personal token, with which the caller uses Git."""
    fields = {"name": "git", "expiresAt": _next_month(), "role": role}
    made: dict[str, Any] = caller.ask("POST", "/api/me/tokens", 201, json=fields).json()
    return made


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
        **{f"{name}.id": webhooks[:1] for name in ("getDelivery", "redeliver", "rotateWebhookSecret")},
        "deleteWebhook.id": webhooks[1:],
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
    root.ask("PUT", f"/api/user/{numbers[users[0]]}/identity", 200, json={"subject": spare})
    grants = [{"resource": "redirect", "action": "read"}]
    role = {"name": spare, "grants": grants}
    root.ask("POST", "/api/roles", 201, json=role)
    token = {"name": "spare", "grants": grants}
    tokens = [root.ask("POST", "/api/tokens", 201, json=token).json()["id"] for _ in range(_SPARES)]
    return {
        "user.id": [numbers[username] for username in users],
        "session": [session["id"] for session in seen],
        **{f"{name}.id": [numbers[users[0]]] for name in ("endUserSession", "getUserIdentity", "removeUserIdentity")},
        **{f"{name}.id": [numbers[users[-1]]] for name in ("deleteUser", "endUserSessions")},
        "role.name": [spare],
        "token.id": tokens,
        "username": users,
        "refreshToken": [session["refreshToken"] for session in sessions],
    }


def _fill_account(own: Caller, other: dict[str, Any]) -> dict[str, list[Any]]:
    """Create personal tokens, and name another session, of the caller's own account."""
    fields = {"name": "spare", "expiresAt": _next_month(), "role": "viewer"}
    tokens = [own.ask("POST", "/api/me/tokens", 201, json=fields).json()["id"] for _ in range(_SPARES)]
    sessions = [each["id"] for each in own.get("/api/me/sessions")["items"] if not each["current"]]
    return {"me_token.id": tokens, "me_session.id": sessions, "spare_access": [other["accessToken"]]}


def _own_ids(caller: Caller) -> set[str]:
    sessions = caller.get("/api/me/sessions")["items"]
    return {f"user {caller.get('/api/me')['id']}", *(f"session {each['id']}" for each in sessions if each["current"])}


def _next_month() -> str:
    return (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
