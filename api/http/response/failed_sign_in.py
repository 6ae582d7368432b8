"""Failed logins with the OpenID provider, for a person with a browser: back to the sign-in view, which says what failed.

The address has one of a fixed set of codes, and nothing of the request or of the provider.
"""

from http import HTTPStatus

from falcon.asgi import Request, Response

from api.errors import ApiError

_PATHS = frozenset({"/auth/openid", "/auth/openid/callback"})
_CODES = frozenset(
    {
        "openid_disabled",
        "openid_failed",
        "openid_state_invalid",
        "openid_unavailable",
        "too_many_attempts",
        "user_not_exist",
    }
)
_OTHER = "failed"


def is_sign_in(req: Request) -> bool:
    """Tell whether a person with a browser waits for the answer of a login with the provider."""
    accepted = (req.get_header("Accept") or "").lower()
    return req.method == "GET" and req.uri_template in _PATHS and "text/html" in accepted


def write_failed_sign_in(resp: Response, error: ApiError) -> None:
    """Redirect to the sign-in view with the code of an error."""
    code = error.code if error.code in _CODES else _OTHER
    resp.status = HTTPStatus.SEE_OTHER
    resp.location = f"/?sign-in={code}"
    resp.data = resp.media = None
    resp.delete_header("Content-Type")
    resp.set_header("Cache-Control", "no-store")
    resp.set_header("Referrer-Policy", "no-referrer")
