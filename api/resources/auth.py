"""Signing in, going on and signing out, and what there is of OpenID Connect: the word that it is off."""

import asyncio

from falcon.asgi import Request, Response

from api.access import any_principal, principal_of, public
from api.background import in_thread
from api.body import read_json
from api.errors import ApiError
from api.identity.login import Logins
from api.identity.principal import caller

HASHES_AT_ONCE = 2
"""Password hashes that one worker computes at a time: each keeps a core busy for some 30 ms."""


class Login:
    """Sessions by user name and password."""

    def __init__(self, logins: Logins) -> None:
        self._logins = logins
        self._turn = asyncio.Semaphore(HASHES_AT_ONCE)

    @public
    async def on_post(self, req: Request, resp: Response) -> None:
        """User and tokens; 401 `invalid_credentials`, 403 `user_not_exist`."""
        body = await read_json(req, "login")
        async with self._turn:
            signed_in = await in_thread(self._logins.login, body["username"], body["password"], req.remote_addr)
        resp.media = signed_in.wire()


class Refresh:
    """The next tokens of a session."""

    def __init__(self, logins: Logins) -> None:
        self._logins = logins

    @public
    async def on_post(self, req: Request, resp: Response) -> None:
        """User and tokens as a login gives them; the same token again within ten seconds gives the same ones."""
        body = await read_json(req, "refresh")
        signed_in = await in_thread(self._logins.refresh, body["refreshToken"], req.remote_addr)
        resp.media = signed_in.wire()


class Logout:
    """The end of a session."""

    def __init__(self, logins: Logins) -> None:
        self._logins = logins

    @any_principal
    async def on_post(self, req: Request, resp: Response) -> None:
        """204: neither token of the caller's session is good for anything from now on."""
        await in_thread(self._logins.logout, caller(principal_of(req)), req.remote_addr)
        resp.status = 204


class OpenId:
    """Signing in with an identity provider, which this service has none of."""

    @public
    async def on_get(self, _req: Request, resp: Response) -> None:
        """Whether it is there: it is not."""
        resp.media = {"enabled": False}

    @public
    async def on_get_callback(self, _req: Request, _resp: Response) -> None:
        """404, as long as there is no provider that could send anybody here."""
        raise ApiError(404, "openid_disabled", "Signing in with an identity provider is not enabled here.")
