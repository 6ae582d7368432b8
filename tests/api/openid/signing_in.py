"""Logins with a hostile provider without a browser: the parts of a service in this process, and a clock set by the test."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from api.app.app import Application, create_app
from api.app.identity_routes import identity_routes
from api.app.openid import open_openid
from api.auth.logins.browser import Client
from api.auth.logins.jwt_token import TokenUse
from api.auth.logins.session_tokens import SessionTokens
from api.db.accounts import openid, sessions, users
from api.db.accounts.sessions import Session
from api.interfaces import Dependencies
from api.openid.openid_logins import CallbackParameters, OpenIdLogins
from api.settings import Settings
from tests.api.asgi import AsgiResponse, call, part
from tests.api.world import World, dump, services_settings, world
from tests.openid_provider import CLIENT, SECRET, HostileProvider

HERE = Client("192.0.2.7", "Firefox/1")


@dataclass(frozen=True)
class SigningIn:
    """A world whose people log in with a provider."""

    settings: Settings
    world: World
    provider: HostileProvider
    logins: OpenIdLogins
    app: Application

    def restarted(self) -> "SigningIn":
        """Return what a service that was started again has: the database, and nothing of the provider in memory."""
        return _start(self.settings, self.world, self.provider)

    def login(self, subject: str = "ada-1") -> SessionTokens:
        """Log in."""
        return asyncio.run(self.log_in(subject))

    async def log_in(self, subject: str = "ada-1") -> SessionTokens:
        """Do the same as `login`, within a running event loop."""
        url, cookie = await self.logins.begin("")
        query = parse_qs(urlsplit(url).query)
        self.provider.nonce, self.provider.subject = query["nonce"][0], subject
        given = CallbackParameters(query["state"][0], "c0de", "", self.provider.issuer)
        return await self.logins.finish(self.logins.find_begun(given.state, cookie), given, HERE)

    def call(self, method: str, path: str, body: object = None, token: str = "") -> AsgiResponse:
        """Return the response to a request."""
        headers: Mapping[str, str] = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        return call(self.app, method, path, headers if token else {**headers, "Authorization": ""}, [part(dump(body))])

    def refresh(self, tokens: SessionTokens) -> AsgiResponse:
        """Refresh a session."""
        return self.call("POST", "/auth/refresh", {"refreshToken": tokens.refresh_token})

    def session_id(self, tokens: SessionTokens) -> str:
        """Return the session of tokens."""
        return self.world.services.logins.session_of(tokens.refresh_token, TokenUse.REFRESH)

    def session(self, tokens: SessionTokens) -> Session:
        """Return the session of tokens as it is stored."""
        with self.world.services.state.database.reading() as connection:
            found = sessions.find_session(connection, self.session_id(tokens))
        assert found is not None
        return found

    def provider_session(self, tokens: SessionTokens) -> openid.ProviderSession:
        """Return the provider's part of the session of tokens."""
        with self.world.services.state.database.reading() as connection:
            found = openid.find_provider_session(connection, self.session_id(tokens))
        assert found is not None
        return found

    def roles(self, number: int) -> tuple[str, ...]:
        """Return the roles of a user."""
        with self.world.services.state.database.reading() as connection:
            return users.find_user(connection, number).roles

    def unseal(self, tokens: SessionTokens) -> str:
        """Return the provider's refresh token of a session."""
        return self.logins._unseal_refresh(self.provider_session(tokens))


@contextmanager
def signing_in(folder: Path, provider: HostileProvider, database: str = "", **changed: Any) -> Iterator[SigningIn]:
    """Open a world with a provider; `changed` are settings."""
    settings = Settings(
        data=folder,
        database=database,
        **{
            "public_url": "http://127.0.0.1:9",
            "openid_issuer": provider.issuer,
            "openid_client_id": CLIENT,
            "openid_client_secret": SECRET,
            "openid_provisioning": True,
            "openid_networks": ("127.0.0.0/8",),
            "openid_roles_claim": "groups",
            "openid_roles": ("ops=admin", "readers=viewer"),
            **changed,
        },
    )
    found = world(folder, database=database, openid_issuer=settings.openid_issuer)
    with closing(found.services):
        provider.now = lambda: found.clock().timestamp()
        yield _start(settings, found, provider)


def _start(settings: Settings, found: World, provider: HostileProvider) -> SigningIn:
    services = found.services
    logins = open_openid(settings, services)
    dependencies = Dependencies(services_settings(settings.data), services.directory, csrf=services.csrf())
    routes = identity_routes(services, found.projects, found.projects, logins)
    return SigningIn(settings, found, provider, logins, create_app(dependencies, routes))
