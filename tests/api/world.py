"""A service of users, tokens and agents for tests: real SQLite and keys in a folder, and a clock that a test sets."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import schemas
from api.app import Service, create_app
from api.collaborators import Collaborators
from api.identity.accounts import NewUser
from api.identity.grants import everywhere
from api.identity.principal import OPERATOR
from api.identity.service import Services, open_services
from api.identity.session_tokens import SignedIn
from api.identity_routes import identity_routes
from api.settings import Settings
from api.state.users import User
from gitstore.errors import NotFound
from tests.api.asgi import Answer, call, part

PASSWORD = "correct horse battery"
START = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
SHORTEST_SHA = 7
AGENTS = "/api/namespace/acme/project/shop/agents"


class SetClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The time that was set."""
        return self.now

    def advance(self, **amount: float) -> None:
        """Move on, as `timedelta` takes it."""
        self.now += timedelta(**amount)


@dataclass(frozen=True)
class FakeVersion:
    """What a project serves."""

    version: str
    number: int
    time: int = int(START.timestamp())


@dataclass
class FakeProjects:
    """Projects in a dictionary; version n of each is the digit n, forty times."""

    numbers: dict[tuple[str, str], int] = field(default_factory=lambda: {("acme", "shop"): 3})

    async def project(self, namespace: str, project: str) -> FakeVersion:
        """The newest version."""
        if (namespace, project) not in self.numbers:
            raise NotFound("There is no such project.")
        number = self.numbers[namespace, project]
        return FakeVersion(str(number) * 40, number)

    def resolve_version(self, namespace: str, project: str, reported: int | str) -> tuple[str, int] | None:
        """By number, decimal, or the first hex digits."""
        text = str(reported)
        for number in range(1, self.numbers[namespace, project] + 1):
            commit = str(number) * 40
            if text == str(number) or (len(text) >= SHORTEST_SHA and commit.startswith(text)):
                return commit, number
        return None


@dataclass(frozen=True)
class World:
    """Services, the application over them, and short ways to both."""

    services: Services
    clock: SetClock
    projects: FakeProjects
    app: Service

    def user(self, name: str, *roles: str) -> User:
        """A new account with `PASSWORD`."""
        return self.services.accounts.create(OPERATOR, NewUser(name, PASSWORD, roles, "Ada", "Lovelace"))

    def login(self, name: str) -> SignedIn:
        """A new session."""
        return self.services.logins.login(name, PASSWORD)

    def access(self, name: str) -> str:
        """The access token of a new session."""
        return self.login(name).access_token

    def token(self, *permissions: str, expires_at: datetime | None = None) -> str:
        """The value of a new API token with these permissions everywhere."""
        return self.services.tokens.create(OPERATOR, "ci", everywhere(*permissions), expires_at).value

    def call(self, method: str, url: str, token: str = "", body: object = None) -> Answer:
        """The answer to a request with a JSON body."""
        headers: Mapping[str, str] = {"Authorization": f"Bearer {token}"} if token else {}
        if body is None:
            return call(self.app, method, url, headers)
        return call(self.app, method, url, {**headers, "Content-Type": "application/json"}, [part(dump(body))])


def world(data: Path, **settings: Any) -> World:
    """A new world in a folder, or another view of the one that is there."""
    clock, projects = SetClock(), FakeProjects()
    services = open_services(Settings(data=data, **settings), clock)
    collaborators = Collaborators(services_settings(data), services.directory, None, services)
    return World(services, clock, projects, create_app(collaborators, identity_routes(services, projects, projects)))


def services_settings(data: Path) -> Settings:
    """The settings of a service in a folder."""
    return Settings(data=data)


def dump(body: object) -> bytes:
    """A body as JSON."""
    return json.dumps(body).encode()


def shaped(answer: Answer, schema: str, status: int = 200) -> Any:
    """The JSON of an answer with this status, which the contract's schema must accept."""
    assert answer.status == status, answer.body
    found = answer.json()
    assert schemas.check(schema, found) == []
    return found
