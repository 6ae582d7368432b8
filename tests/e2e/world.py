"""A running service with people, tokens, namespaces and projects, each created by a short call."""

import json
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from api.app.services import Services, open_services
from api.auth.accounts import NewUser
from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import OPERATOR
from api.settings import Settings
from tests.e2e.caller import Caller
from tests.hashing import hashing_remembered
from tests.service import Service, wait_until

PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class World:
    """A service, and the identity services of its data directory, opened as by the command line.

    Every request opens a new connection, so that either worker may answer it.
    """

    service: Service
    services: Services
    http: httpx.Client
    _tokens: dict[tuple[Grant, ...], str] = field(default_factory=dict)

    @property
    def root(self) -> Caller:
        """A token with all grants that a token can hold."""
        return self.holder(("*", "*"))

    @property
    def nobody(self) -> Caller:
        """A caller without a token."""
        return Caller(self.http)

    def holder(self, *permissions: tuple[str, str], namespace: str = "*", project: str = "*") -> Caller:
        """Return a caller with these (resource, action) pairs; the token is shared for equal grants."""
        grants = tuple(Grant(namespace, project, *each) for each in sorted(permissions))
        return Caller(self.http, self._tokens.get(grants) or self._tokens.setdefault(grants, self.token(grants)))

    def token(self, grants: Iterable[Grant]) -> str:
        """Return the value of a new API token."""
        return self.services.tokens.create(OPERATOR, "e2e", tuple(grants)).value

    def user(self, *roles: str) -> str:
        """Return the name of a new account with `PASSWORD`."""
        name = f"user-{secrets.token_hex(4)}"
        new = NewUser(name, PASSWORD, roles, "Ada", "Lovelace")
        with hashing_remembered():
            return self.services.accounts.create(OPERATOR, new).username

    def owner(self, namespace: str) -> str:
        """Return the name of a new account that may do everything in one namespace, and hears of no other."""
        grants = [{"namespace": namespace, "project": "*", "resource": "*", "action": "*"}]
        self.person("admin").ask("POST", "/api/roles", 201, json={"name": namespace, "grants": grants})
        return self.user(namespace)

    def session(self, name: str) -> dict[str, Any]:
        """Return the tokens of a new session, created by HTTP."""
        body = {"username": name, "password": PASSWORD}
        found: dict[str, Any] = self.nobody.ask("POST", "/auth/login", 200, json=body).json()["tokens"]
        return found

    def person(self, *roles: str) -> Caller:
        """Return a new user with a session."""
        return Caller(self.http, self.session(self.user(*roles))["accessToken"])

    def expired(self) -> str:
        """Return an access token that expired three quarters of an hour ago."""
        past = open_services(Settings(data=self.service.data), lambda: datetime.now(UTC) - timedelta(hours=1))
        try:
            return past.logins.login(self.user("admin"), PASSWORD).access_token
        finally:
            past.close()

    def namespace(self) -> str:
        """Return the name of a new namespace."""
        name = f"ns-{secrets.token_hex(4)}"
        self.root.ask("POST", "/api/namespaces", 201, json={"name": name})
        return name

    def place(self, namespace: str = "", project: str = "shop", **settings: str) -> "Place":
        """Create a project, in a new namespace unless one is named."""
        found = Place(self, namespace or self.namespace(), project, self.root)
        found.root.ask("POST", f"{found.space}/projects", 201, json={"name": project, **settings})
        return found


@dataclass(frozen=True)
class Place:
    """A project, with short calls to work on it as `root`, or as another caller."""

    world: World
    namespace: str
    project: str
    root: Caller

    @property
    def space(self) -> str:
        """The path of the namespace."""
        return f"/api/namespace/{self.namespace}"

    @property
    def path(self) -> str:
        """The path of the project."""
        return f"{self.space}/project/{self.project}"

    @property
    def repository(self) -> Path:
        """The bare repository on disk."""
        return self.world.service.data / "repos" / f"{self.namespace}.git"

    def ask(self, method: str, tail: str, status: int, **request: Any) -> httpx.Response:
        """Send a request below the project's path, and return the response."""
        return self.root.ask(method, self.path + tail, status, **request)

    def refused(self, method: str, tail: str, status: int, code: str, **request: Any) -> Any:
        """Return the error of a request below the project's path."""
        return self.root.refused(method, self.path + tail, status, code, **request)

    def get(self, tail: str, **params: Any) -> Any:
        """Return the JSON of a GET below the project's path."""
        return self.root.get(self.path + tail, **params)

    def add(self, source: str, target: str = "/new", **fields: Any) -> Any:
        """Add a BASIC redirect to the draft, changed by `fields`."""
        return self.ask("POST", "/draft/redirects", 201, json=redirect(source, target, **fields)).json()

    def add_page(self, path: str, content: str = "hello", **fields: Any) -> Any:
        """Add a page to the draft."""
        return self.ask("POST", "/draft/pages", 201, json=page(path, content, **fields)).json()

    def publish(self, **body: Any) -> Any:
        """Publish the draft main."""
        return self.ask("POST", "/publish", 200, **({"json": body} if body else {})).json()

    def published(self, *sources: str) -> Any:
        """Add redirects and publish them."""
        for source in sources:
            self.add(source)
        return self.publish()

    def sources(self) -> list[str]:
        """Return the sources that agents see, in order."""
        return [item["source"] for item in self.get("/redirects", limit=1_000_000)["items"]]

    def wait_for(self, commit: str) -> None:
        """Wait until a pushed commit is served: it is compiled while the last good version is served."""
        # Each request may be answered by either worker, and one may be half a second behind the other.
        wait_until(lambda: all(self.get("/version") == commit for _ in range(32)), 60, f"{commit} to be served")

    def as_(self, caller: Caller) -> "Place":
        """Return the same project for another caller."""
        return Place(self.world, self.namespace, self.project, caller)

    def holder(self, *permissions: tuple[str, str]) -> "Place":
        """Return the same project for a token with these permissions in it."""
        return self.as_(self.world.holder(*permissions, namespace=self.namespace, project=self.project))


def redirect(source: str, target: str = "/new", **fields: Any) -> dict[str, Any]:
    """Return the body of a redirect."""
    return {"type": "BASIC", "source": source, "target": target, "status": "MOVED_PERMANENT", **fields}


def page(path: str, content: str = "hello", **fields: Any) -> dict[str, Any]:
    """Return the body of a page."""
    return {"type": "BASIC", "path": path, "content": content, "contentType": "TEXT_PLAIN", **fields}


@contextmanager
def open_world(service: Service, *, killed: bool = False, database: str = "") -> Iterator[World]:
    """Open the world of a running service, with another `database` if given; fail at the end for unexpected log events.

    If processes are `killed`, Python's own helper processes write plain lines to the log, which are ignored.
    """
    services = open_services(Settings(data=service.data, database=database))
    with httpx.Client(base_url=service.url, timeout=120, limits=httpx.Limits(max_keepalive_connections=0)) as http:
        yield World(service, services, http)
    services.close()
    lines = service.log.read_text("utf-8").splitlines()
    assert killed or all(line.startswith("{") for line in lines)
    bad = [line for line in map(json.loads, (line for line in lines if line.startswith("{"))) if _is_unexpected(line)]
    assert bad == [], bad


def _is_unexpected(line: dict[str, Any]) -> bool:
    """Return whether a line is of an exception without a handler, or of one in a library."""
    in_library = "exception" in line and not str(line.get("logger", "")).startswith("waypost.")
    return line.get("event") == "unexpected_error" or in_library
