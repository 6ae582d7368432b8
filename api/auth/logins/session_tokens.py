"""The two tokens of a session at one point of its chain; the same point always gives the same two tokens.

So a client that lost the response to a refresh, or refreshed twice at once, gets the same tokens.
"""

import hmac
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256

from api.auth.logins.jwt_token import Claims, TokenUse, mint
from api.auth.logins.keyring import Key
from api.db.accounts.sessions import RefreshToken
from api.db.accounts.users import User


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The lifetimes of an access token, an unused refresh token, and a session, however often it is refreshed."""

    access: timedelta = timedelta(minutes=15)
    idle: timedelta = timedelta(days=7)
    session: timedelta = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class SessionTokens:
    """The result of a login or refresh; `expires_at` is the Unix time in seconds at which the access token expires.

    The refresh token is valid for `seconds` from its issue.
    """

    user: User
    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_at: int
    seconds: int

    def wire(self) -> dict[str, object]:
        """Return the JSON body."""
        user, tokens = self.user, (self.access_token, self.refresh_token, self.expires_at)
        return {
            "user": {
                "id": user.id,
                "username": user.username,
                "firstname": user.firstname,
                "lastname": user.lastname,
            },
            "tokens": dict(zip(("accessToken", "refreshToken", "expiresAt"), tokens, strict=True)),
        }


@dataclass(frozen=True, slots=True)
class RefreshLink:
    """A refresh token of a chain, with the fields that the database does not store: its `jti` and its signing key."""

    row: RefreshToken
    jti: str = field(repr=False)
    key: Key

    def sign(self, user: User, access: timedelta) -> SessionTokens:
        """Sign both tokens of this point of the chain."""
        row, key = self.row, self.key
        issued_at = int(row.issued_at.timestamp())
        ends_at = int(row.expires_at.timestamp())
        expires_at = min(issued_at + int(access.total_seconds()), ends_at)  # never later than the session
        refresh = Claims(user.id, row.session_id, self.jti, issued_at, ends_at)
        entry = Claims(user.id, row.session_id, _derive(key, "access", self.jti), issued_at, expires_at)
        tokens = mint(entry, TokenUse.ACCESS, key), mint(refresh, TokenUse.REFRESH, key)
        return SessionTokens(user, *tokens, expires_at, ends_at - issued_at)


def jti_hash(jti: str) -> str:
    """Return the key of a refresh token in the database: the SHA-256 of its `jti`, in hex."""
    return sha256(jti.encode()).hexdigest()


def first_link(session: str, key: Key, now: datetime, expires_at: datetime) -> RefreshLink:
    """Create the first link of a chain."""
    jti = secrets.token_urlsafe(32)
    return RefreshLink(RefreshToken(jti_hash(jti), session, key.kid, now, expires_at), jti, key)


def next_link(spent: Claims, key: Key, now: datetime, expires_at: datetime) -> RefreshLink:
    """Create the link after a refresh token."""
    jti = _derive(key, "refresh", spent.jti)
    row = RefreshToken(jti_hash(jti), spent.session, key.kid, now, expires_at, parent=jti_hash(spent.jti))
    return RefreshLink(row, jti, key)


def same_link(spent: Claims, key: Key, row: RefreshToken) -> RefreshLink:
    """Return the existing link after a refresh token, exactly as it was created."""
    return RefreshLink(row, _derive(key, "refresh", spent.jti), key)


def _derive(key: Key, purpose: str, jti: str) -> str:
    return hmac.digest(key.secret, f"waypost {purpose} after {jti}".encode(), "sha256").hex()
