"""HTTP Basic, the authentication of Git: https://www.rfc-editor.org/rfc/rfc7617."""

import binascii
import re
from base64 import b64decode

from falcon.asgi import Request

from api.auth.tokens import api_token
from api.errors import ExpiredToken, TooManyAttempts, Unauthenticated
from api.interfaces import Password

_BASIC = re.compile(r"[Bb][Aa][Ss][Ii][Cc] +([A-Za-z0-9+/=]{1,8192})")
_CHALLENGE = 'Basic realm="waypost"'


def read_basic(req: Request) -> str | Password:
    """Read the credentials of the Authorization header: an API token, whatever the user name, or a password.

    Raises Unauthenticated.
    """
    header = req.get_header("Authorization")
    if not header:
        raise Unauthenticated(
            "This needs a user name and password, or an API token as the password.", "unauthenticated"
        )
    found = _BASIC.fullmatch(header)
    username, colon, password = _decode(found[1]).partition(":") if found else ("", "", "")
    if not colon or not username.isprintable():
        raise Unauthenticated("The Authorization header is malformed. Send: Basic <base64 of user name:password>.")
    return password if api_token.is_well_formed(password) else Password(username, password, req.remote_addr)


def _decode(text: str) -> str:
    try:
        data = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return ""
    return data.decode(errors="replace")


def challenge_basic(ex: Unauthenticated) -> Unauthenticated:
    """Return the same error with the challenge of HTTP Basic, so that Git asks for a user name and password."""
    if isinstance(ex, ExpiredToken):
        return _challenge(str(ex), ex.code)
    code = "invalid_credentials" if ex.code == "invalid_token" else ex.code
    message = "Incorrect user name, password or API token." if code == "invalid_credentials" else ex.message
    return _challenge(message, code)


def _challenge(message: str, code: str) -> Unauthenticated:
    error = Unauthenticated(message, code)
    error.headers["WWW-Authenticate"] = _CHALLENGE
    return error


def add_way_out(ex: TooManyAttempts) -> TooManyAttempts:
    """Return the error of too many failed logins with what still works, as Git prints it."""
    return TooManyAttempts(f"{ex.message} API tokens still work.", ex.seconds)
