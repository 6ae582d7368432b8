"""Login with an OpenID provider: where it begins, its callback, and the logout that comes from the provider."""

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from falcon.asgi import Request, Response

from api.errors import ApiError, Unauthenticated, bad_request
from api.http.guard.access import public
from api.http.request.json_body import read_bytes
from api.http.request.parameters import read_text
from api.http.request.session_cookies import OPENID, read_cookie
from api.http.response.session_cookies import clear_cookie, set_cookie
from api.resources.accounts.auth import client_of
from api.resources.accounts.browser_session import BrowserLogins

if TYPE_CHECKING:
    from api.openid.openid_logins import OpenIdLogins

_COOKIE_SECONDS = 600
_MOST_FORM = 32 * 1024
_FORM = "application/x-www-form-urlencoded"


class OpenId:
    """Login with the OpenID provider, if one is configured."""

    def __init__(self, logins: "OpenIdLogins | None", browsers: BrowserLogins) -> None:
        self._logins = logins
        self._browsers = browsers

    @public
    async def on_get(self, req: Request, resp: Response) -> None:
        """Show whether it is enabled, and where this browser logs in; 503 while the provider was never reached."""
        if self._logins is None:
            resp.media = {"enabled": False}
            return
        url, cookie = await self._logins.begin(read_cookie(req, OPENID))
        set_cookie(req, resp, OPENID, cookie, _COOKIE_SECONDS)
        resp.media = {"enabled": True, "authUrl": url}

    @public
    async def on_get_callback(self, req: Request, resp: Response) -> None:
        """Finish a login: tokens for a client that accepts JSON, else cookies and a redirect to the dashboard."""
        logins = self._require()
        from api.openid.openid_logins import CallbackParameters  # noqa: PLC0415 - only where a provider is configured

        given = CallbackParameters(*(read_text(req, name) or "" for name in ("state", "code", "error", "iss")))
        resp.set_header("Referrer-Policy", "no-referrer")
        # Any site can send a browser here, but only with another state: then the cookie stays, and so does the login.
        login = logins.find_begun(given.state, read_cookie(req, OPENID))
        clear_cookie(req, resp, OPENID)
        signed_in = await logins.finish(login, given, client_of(req))
        if _wants_json(req):
            resp.media = signed_in.wire()
            return
        await self._browsers.end_earlier(req)
        self._browsers.set(req, resp, signed_in)
        resp.status = 303
        resp.location = "/"

    @public
    async def on_post_logout(self, req: Request, resp: Response) -> None:
        """End the sessions that the provider names in a logout token: 200."""
        logins = self._require()
        token = await _read_logout_token(req)
        try:
            await logins.logout_by_provider(token, client_of(req).address)
        except Unauthenticated as ex:
            raise bad_request("The logout token is invalid.", "invalid_logout_token") from ex
        resp.status = 200

    def _require(self) -> "OpenIdLogins":
        if self._logins is None:
            raise ApiError(404, "openid_disabled", "Login with an OpenID provider is not enabled.")
        return self._logins


def _wants_json(req: Request) -> bool:
    accepted = (req.get_header("Accept") or "").lower()
    return "application/json" in accepted and "text/html" not in accepted


async def _read_logout_token(req: Request) -> str:
    if (req.content_type or "").partition(";")[0].strip().lower() != _FORM:
        raise ApiError(
            415, "unsupported_media_type", f"Send the logout token as a form, with the header Content-Type: {_FORM}."
        )
    data = await read_bytes(req, _MOST_FORM)
    try:
        found: dict[str, Any] = parse_qs(data.decode("ascii"), max_num_fields=10, strict_parsing=True)
    except ValueError as ex:
        raise bad_request("The form cannot be read.", "invalid_logout_token") from ex
    values = found.get("logout_token", [])
    if len(values) != 1:
        raise bad_request("The form has no logout_token, or several.", "invalid_logout_token")
    return str(values[0])
