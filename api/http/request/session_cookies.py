"""The cookies of a browser's session: tokens that no script can read, and the token against forged requests, that one can.

Their names begin with `__Host-`, so that a browser takes them over TLS only, and from no other host or path. On this machine
itself, where there is no TLS, they have plain names: https://www.rfc-editor.org/rfc/rfc6265#section-4.1
"""

from ipaddress import ip_address

from falcon.asgi import Request

from api.auth.tokens import api_token
from api.errors import Forbidden, Unauthenticated
from gitstore.wire.addresses import read_literal

ACCESS = "waypost-access"
REFRESH = "waypost-refresh"
CSRF = "waypost-csrf"
OPENID = "waypost-openid"
CSRF_HEADER = "X-CSRF-Token"
MOST_COOKIE = 4096  # characters; browsers store no longer ones

_HOST = "__Host-"
_SITES = frozenset({"same-origin", "none"})


def is_plain(req: Request) -> bool:
    """Tell whether the cookies have plain names: the request is to this machine by HTTP."""
    if req.context.public_url.startswith("https:"):
        return False
    host = (req.get_header("Host") or "").lower()
    name = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
    literal = read_literal(name) if name else None
    return literal is not None and ip_address(literal).is_loopback


def cookie_name(req: Request, name: str) -> str:
    """Return the name of a cookie as the browser of this request has it."""
    return name if is_plain(req) else _HOST + name


def read_cookie(req: Request, name: str) -> str:
    """Return the value of a cookie; empty if it is missing, too long, or given more than once."""
    found = req.get_cookie_values(cookie_name(req, name)) or []
    return found[0] if len(found) == 1 and len(found[0]) <= MOST_COOKIE else ""


def read_access_cookie(req: Request) -> str:
    """Return the access token of a browser; empty without one. An API token is never taken from a cookie."""
    found = read_cookie(req, ACCESS)
    if found.startswith(api_token.PREFIX):
        raise Unauthenticated
    return found


def read_csrf(req: Request) -> str:
    """Return the token against forged requests; Forbidden without one, or for a request of another site."""
    refuse_other_site(req)
    found = req.get_header(CSRF_HEADER)
    if not found:
        raise csrf_failed()
    return found


def csrf_failed() -> Forbidden:
    """Return the 403 for a request with cookies alone."""
    message = f"A request with a session's cookies needs the header {CSRF_HEADER}, with the csrfToken of the session."
    return Forbidden(message, "csrf_failed")


def refuse_other_site(req: Request) -> None:
    """Raise Forbidden for a request that a page of another site makes the browser send."""
    origin, site = req.get_header("Origin"), req.get_header("Sec-Fetch-Site")
    if (site is not None and site not in _SITES) or (origin is not None and not _is_own(req, origin.lower())):
        raise Forbidden("Another site asked for this. Sessions take requests of this site only.", "other_origin")


def _is_own(req: Request, origin: str) -> bool:
    host = (req.get_header("Host") or "").lower()
    return origin in {req.context.public_url.lower(), f"http://{host}", f"https://{host}"} - {""}
