"""Responses to a browser's login and refresh: cookies with the tokens, and a body without them."""

from datetime import UTC, datetime

from falcon.asgi import Request, Response

from api.auth.logins.session_tokens import SessionTokens
from api.http.request.session_cookies import ACCESS, CSRF, REFRESH, cookie_name, is_plain

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


def write_session(req: Request, resp: Response, signed_in: SessionTokens, csrf: str) -> None:
    """Respond with the session of a browser: its cookies, the user, and the token against forged requests."""
    set_session(req, resp, signed_in, csrf)
    resp.media = {"user": signed_in.wire()["user"], "expiresAt": signed_in.expires_at, "csrfToken": csrf}


def set_session(req: Request, resp: Response, signed_in: SessionTokens, csrf: str) -> None:
    """Set the cookies of a session, for as long as it can be refreshed."""
    set_cookie(req, resp, ACCESS, signed_in.access_token, signed_in.seconds)
    set_cookie(req, resp, REFRESH, signed_in.refresh_token, signed_in.seconds)
    set_cookie(req, resp, CSRF, csrf, signed_in.seconds, http_only=False)


def clear_session(req: Request, resp: Response) -> None:
    """Remove the cookies of a session from the browser."""
    for name in (ACCESS, REFRESH, CSRF):
        clear_cookie(req, resp, name)


def set_cookie(req: Request, resp: Response, name: str, value: str, seconds: int, *, http_only: bool = True) -> None:
    """Set one cookie. `Lax`: a browser that comes back from the OpenID provider has to send it."""
    resp.set_cookie(
        cookie_name(req, name),
        value,
        max_age=seconds,
        path="/",
        secure=not is_plain(req),
        http_only=http_only,
        same_site="Lax",
    )


def clear_cookie(req: Request, resp: Response, name: str) -> None:
    """Remove one cookie from the browser; a `__Host-` cookie is replaced only by one that is secure too."""
    resp.set_cookie(
        cookie_name(req, name),
        "",
        expires=_LONG_AGO,
        path="/",
        secure=not is_plain(req),
        http_only=True,
        same_site="Lax",
    )
