"""A service of users, tokens and agents for tests: real SQLite and keys in a folder, and a clock set by the test."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import schemas
from api.app.app import Application, create_app
from api.app.identity_routes import identity_routes
from api.app.services import Services, open_services
from api.auth.accounts import NewUser
from api.auth.logins.session_tokens import SessionTokens
from api.auth.permissions.grants import everywhere
from api.auth.permissions.principal import OPERATOR
from api.db.accounts.users import User
from api.interfaces import Dependencies
from api.settings import Settings
from gitstore.errors import NotFound
from tests.api.asgi import AsgiResponse, call, part
from tests.hashing import hashing_remembered

PASSWORD = "correct horse battery"
START = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
SHORTEST_SHA = 7
AGENTS = "/api/namespace/acme/project/shop/agents"


class ManualClock:
    """A clock that moves only when a test moves it."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """Return the time that was set."""
        return self.now

    def advance(self, **amount: float) -> None:
        """Advance the clock, with the arguments of `timedelta`."""
        self.now += timedelta(**amount)


@dataclass(frozen=True)
class FakeVersion:
    """A version of a project."""

    version: str
    number: int
    time: int = int(START.timestamp())


@dataclass
class FakeProjects:
    """Projects in a dictionary; version n of each is the digit n, forty times."""

    numbers: dict[tuple[str, str], int] = field(default_factory=lambda: {("acme", "shop"): 3})

    async def project(self, namespace: str, project: str) -> FakeVersion:
        """Return the newest version."""
        if (namespace, project) not in self.numbers:
            raise NotFound("There is no such project.")
        number = self.numbers[namespace, project]
        return FakeVersion(str(number) * 40, number)

    def same_history(self, namespace: str, project: str, reported: Iterable[tuple[str, int]]) -> set[str]:
        """Return the commits that this fake resolves to the reported number."""
        resolved = {self.resolve_version(namespace, project, commit) for commit, _ in reported}
        return {commit for commit, number in reported if (commit, number) in resolved}

    def resolve_version(self, namespace: str, project: str, reported: int | str) -> tuple[str, int] | None:
        """Return a version by number, decimal, or its first hex digits."""
        text = str(reported)
        for number in range(1, self.numbers[namespace, project] + 1):
            commit = str(number) * 40
            if text == str(number) or (len(text) >= SHORTEST_SHA and commit.startswith(text)):
                return commit, number
        return None


@dataclass(frozen=True)
class World:
    """Services, an application on top of them, and short calls to both."""

    services: Services
    clock: ManualClock
    projects: FakeProjects
    app: Application

    def user(self, name: str, *roles: str) -> User:
        """Create an account with `PASSWORD`."""
        with hashing_remembered():
            return self.services.accounts.create(OPERATOR, NewUser(name, PASSWORD, roles, "Ada", "Lovelace"))

    def login(self, name: str) -> SessionTokens:
        """Start a session."""
        with hashing_remembered():
            return self.services.logins.login(name, PASSWORD)

    def access(self, name: str) -> str:
        """Return the access token of a new session."""
        return self.login(name).access_token

    def token(self, *permissions: str, expires_at: datetime | None = None) -> str:
        """Return the value of a new API token with these permissions everywhere."""
        return self.services.tokens.create(OPERATOR, "ci", everywhere(*permissions), expires_at).value

    def call(self, method: str, url: str, token: str = "", body: object = None) -> AsgiResponse:
        """Return the response to a request with a JSON body."""
        headers: Mapping[str, str] = {"Authorization": f"Bearer {token}"} if token else {}
        if body is None:
            return call(self.app, method, url, headers)
        return call(self.app, method, url, {**headers, "Content-Type": "application/json"}, [part(dump(body))])


def world(data: Path, **settings: Any) -> World:
    """Create a world in a folder, or open another view of an existing one."""
    clock, projects = ManualClock(), FakeProjects()
    services = open_services(Settings(data=data, **settings), clock)
    dependencies = Dependencies(services_settings(data), services.directory, csrf=services.csrf())
    return World(services, clock, projects, create_app(dependencies, identity_routes(services, projects, projects)))


def services_settings(data: Path) -> Settings:
    """Return the settings of a service in a folder."""
    return Settings(data=data)


def dump(body: object) -> bytes:
    """Write a body as JSON."""
    return json.dumps(body).encode()


def shaped(answer: AsgiResponse, schema: str, status: int = 200) -> Any:
    """Return the JSON of a response after a check of its status and of the contract's schema."""
    assert answer.status == status, answer.body
    found = answer.json()
    assert schemas.check(schema, found) == []
    return found
