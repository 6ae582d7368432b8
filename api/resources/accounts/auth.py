"""Login, refresh and logout by tokens."""

from collections.abc import Awaitable, Callable

from falcon.asgi import Request, Response

from api.auth.logins.browser import Client
from api.auth.logins.jwt_token import TokenUse
from api.auth.logins.login import Logins
from api.auth.logins.session_tokens import SessionTokens
from api.auth.permissions.principal import as_principal
from api.http.guard.access import any_principal, principal_of, public
from api.http.request.json_body import read_json
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.password_checks import PasswordChecks


class PasswordLogin:
    """Logins by user name and password, for tokens and for browsers."""

    def __init__(self, logins: Logins, checks: PasswordChecks) -> None:
        self._logins = logins
        self._checks = checks

    async def login(self, req: Request) -> SessionTokens:
        """Log in with the body; raises 401 `invalid_credentials`, or 403 `user_not_exist`."""
        body = await read_json(req, "login")
        client = client_of(req)
        return await self._checks.run(client.address, self._logins.login, body["username"], body["password"], client)


class Login:
    """Sessions by user name and password."""

    def __init__(self, passwords: PasswordLogin) -> None:
        self._passwords = passwords

    @public
    async def on_post(self, req: Request, resp: Response) -> None:
        """Log in; responds with user and tokens, 401 `invalid_credentials`, or 403 `user_not_exist`."""
        resp.media = (await self._passwords.login(req)).wire()


class Refreshing:
    """Refreshes of sessions; `check_again` asks the OpenID provider about the person of a session."""

    def __init__(self, logins: Logins, check_again: Callable[[str], Awaitable[None]] | None = None) -> None:
        self._logins = logins
        self._check_again = check_again

    async def refresh(self, req: Request, token: str) -> SessionTokens:
        """Return the next tokens of a session; raises 401 for an invalid token, and for a person refused meanwhile.

        The provider is asked first: a client that gives up waiting for it still has a token that was not used.
        """
        if self._check_again is not None:
            await self._check_again(self._logins.session_of(token, TokenUse.REFRESH))
        return await run_in_thread(self._logins.refresh, token, client_of(req))


class Refresh:
    """The next tokens of a session."""

    def __init__(self, refreshing: "Refreshing") -> None:
        self._refreshing = refreshing

    @public
    async def on_post(self, req: Request, resp: Response) -> None:
        """Refresh the tokens; responds as a login does. The same refresh token gives the same result for ten seconds."""
        body = await read_json(req, "refresh")
        resp.media = (await self._refreshing.refresh(req, body["refreshToken"])).wire()


class Logout:
    """The end of a session."""

    def __init__(self, logins: Logins) -> None:
        self._logins = logins

    @any_principal
    async def on_post(self, req: Request, resp: Response) -> None:
        """Log out: 204; both tokens of the caller's session are invalid from now on."""
        await run_in_thread(self._logins.logout, as_principal(principal_of(req)), req.remote_addr)
        resp.status = 204


def client_of(req: Request) -> Client:
    """Return the client of a request, as a session remembers it."""
    return Client(req.remote_addr, req.get_header("User-Agent") or "")
