"""Login, refresh and logout of browsers: the tokens live in cookies that no script can read."""

from collections.abc import Callable
from contextlib import suppress

from falcon.asgi import Request, Response

from api import logs
from api.auth.logins.csrf import CsrfTokens, csrf_token
from api.auth.logins.jwt_token import TokenUse
from api.auth.logins.login import Logins
from api.auth.logins.session_tokens import SessionTokens
from api.errors import Unauthenticated
from api.http.guard.access import public
from api.http.request.session_cookies import ACCESS, REFRESH, csrf_failed, read_cookie, read_csrf, refuse_other_site
from api.http.response.session_cookies import clear_session, set_session, write_session
from api.resources.accounts.auth import PasswordLogin, Refreshing
from api.runtime.jobs.background import run_in_thread
from gitstore.errors import StoreError

_log = logs.logger("login")
_ANOTHER_LOGIN = "another login of the browser"


class BrowserLogins:
    """The sessions of browsers: their cookies, and the tokens against forged requests."""

    def __init__(self, logins: Logins) -> None:
        self.logins = logins
        self._csrf = CsrfTokens(logins.keyring)

    def write(self, req: Request, resp: Response, signed_in: SessionTokens) -> None:
        """Respond with a session that began or was refreshed."""
        write_session(req, resp, signed_in, self._token(signed_in))

    def set(self, req: Request, resp: Response, signed_in: SessionTokens) -> None:
        """Set the cookies of a session that began."""
        set_session(req, resp, signed_in, self._token(signed_in))

    def sessions_of(self, req: Request) -> list[str]:
        """Return the sessions of the cookies; two where the cookies are of two logins."""
        found = list[str]()
        for name, use in ((REFRESH, TokenUse.REFRESH), (ACCESS, TokenUse.ACCESS)):
            with suppress(Unauthenticated):
                found.append(self.logins.session_of(read_cookie(req, name), use))
        return [*dict.fromkeys(found)]

    async def end_earlier(self, req: Request) -> None:
        """End the session that the browser had before a login, of whichever account: no one could log out of it any more.

        The login goes on where that fails: its session is there already, and only its cookies let anyone end it.
        """
        for session in self.sessions_of(req):
            try:
                await run_in_thread(self.logins.end, session, req.remote_addr, _ANOTHER_LOGIN)
            except StoreError as ex:
                _log.warning("earlier_session_not_ended", exc_info=ex)

    def check(self, req: Request, session: str) -> None:
        """Raise Forbidden unless the request has the session's token against forged requests."""
        if not self._csrf.accepts(session, read_csrf(req)):
            raise csrf_failed()

    def _token(self, signed_in: SessionTokens) -> str:
        key = self.logins.keyring.ring.signing(self.logins.clock())
        return csrf_token(key, self.logins.session_of(signed_in.refresh_token, TokenUse.REFRESH))


class BrowserSession:
    """The session of a browser."""

    def __init__(
        self,
        browsers: BrowserLogins,
        passwords: PasswordLogin,
        refreshing: Refreshing,
        logout_url: Callable[[str], str] | None = None,
    ) -> None:
        self._browsers = browsers
        self._passwords = passwords
        self._refreshing = refreshing
        self._logout_url = logout_url

    @public
    async def on_post(self, req: Request, resp: Response) -> None:
        """Log in as `POST /auth/login` does; the tokens are in cookies alone. The browser's earlier session ends."""
        refuse_other_site(req)
        signed_in = await self._passwords.login(req)
        await self._browsers.end_earlier(req)
        self._browsers.write(req, resp, signed_in)

    @public
    async def on_delete(self, req: Request, resp: Response) -> None:
        """Log out: 204, also for a session that has ended; the cookies are removed.

        For a session of an OpenID provider that can be logged out of, 200 with the address for that.
        """
        found, logout_url = self._browsers.sessions_of(req), ""
        if found:
            self._browsers.check(req, found[0])
            logout_url = await run_in_thread(self._logout_url, found[0]) if self._logout_url else ""
        for session in found:
            await run_in_thread(self._browsers.logins.end, session, req.remote_addr)
        clear_session(req, resp)
        resp.status = 200 if logout_url else 204
        resp.media = {"logoutUrl": logout_url} if logout_url else None

    @public
    async def on_post_refresh(self, req: Request, resp: Response) -> None:
        """Set the next cookies; the same refresh token gives the same ones for ten seconds, as with `/auth/refresh`."""
        token = read_cookie(req, REFRESH)
        if not token:
            raise Unauthenticated("There is no session in the cookies. Log in.", "unauthenticated")
        try:
            self._browsers.check(req, self._browsers.logins.session_of(token, TokenUse.REFRESH))
            signed_in = await self._refreshing.refresh(req, token)
        except Unauthenticated:
            clear_session(req, resp)
            raise
        self._browsers.write(req, resp, signed_in)
