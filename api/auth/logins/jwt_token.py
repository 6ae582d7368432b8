"""Tokens of a session: JWTs for two uses, each with its own audience, minted and verified with the keyring."""

import re
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from api.auth.logins.keyring import Key, Ring
from api.auth.logins.lean_jwt import jwt
from api.errors import Unauthenticated

ISSUER = "waypost"
MAX_TOKEN_LENGTH = 4096
CLOCK_DRIFT = 30  # seconds by which the clock of the issuing node may be ahead

_ALGORITHM = "HS256"
_SHAPE = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_REQUIRED = ["exp", "iat", "sub", "aud", "iss", "jti", "sid", "token_use"]
# PyJWT 2.15 compares times with the system clock, and with one leeway for all claims. They are compared below instead,
# with the injected clock and a leeway for `iat` and `nbf` only: https://pyjwt.readthedocs.io/en/stable/usage.html
_JWT = jwt.PyJWT(
    options={
        "require": _REQUIRED,
        "verify_exp": False,
        "verify_iat": False,
        "verify_nbf": False,
        "strict_aud": True,
        "enforce_minimum_key_length": True,
    }
)


class TokenUse(StrEnum):
    """The uses of a token."""

    ACCESS = "access"
    REFRESH = "refresh"

    @property
    def audience(self) -> str:
        """The claim `aud` of tokens for this use."""
        return f"waypost-{self.value}"


class Claims(NamedTuple):
    """The claims of a token; `issued_at` and `expires_at` are Unix times in seconds."""

    user_id: int
    session: str
    jti: str
    issued_at: int
    expires_at: int


def mint(claims: Claims, use: TokenUse, key: Key) -> str:
    """Sign a token; the same claims and key always give the same token."""
    payload = {
        "iss": ISSUER,
        "aud": use.audience,
        "sub": str(claims.user_id),
        "sid": claims.session,
        "jti": claims.jti,
        "iat": claims.issued_at,
        "exp": claims.expires_at,
        "token_use": use.value,
    }
    return _JWT.encode(payload, key.secret, _ALGORITHM, {"kid": key.kid})


def verify(token: str, use: TokenUse, ring: Ring, now: datetime) -> Claims:
    """Return the claims of a valid token for this use; else raise Unauthenticated, without the reason."""
    if len(token) > MAX_TOKEN_LENGTH or _SHAPE.fullmatch(token) is None:
        raise Unauthenticated
    try:
        key = ring.find(jwt.get_unverified_header(token).get("kid", ""))
        if key is None:
            raise Unauthenticated
        payload = _JWT.decode(token, key.secret, [_ALGORITHM], audience=use.audience, issuer=ISSUER)
    except (jwt.PyJWTError, ValueError, RecursionError) as ex:
        # PyJWT 2.15 translates only the ValueError of json.loads; deeply nested JSON raises RecursionError.
        raise Unauthenticated from ex
    return _claims(payload, use, now.timestamp())


def _claims(payload: dict[str, Any], use: TokenUse, now: float) -> Claims:
    issued_at, expires_at, not_before = payload["iat"], payload["exp"], payload.get("nbf", 0)
    times = (issued_at, expires_at, not_before)
    in_time = all(type(time) is int for time in times) and max(issued_at, not_before) <= now + CLOCK_DRIFT
    if payload["token_use"] != use.value or not in_time or now >= expires_at:
        raise Unauthenticated
    user, session = payload["sub"], payload["sid"]
    if not isinstance(session, str) or not (user.isascii() and user.isdigit()):
        raise Unauthenticated
    return Claims(int(user), session, payload["jti"], issued_at, expires_at)
