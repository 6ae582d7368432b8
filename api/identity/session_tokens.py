"""The two tokens of a session at one point of its chain; the same point always gives the same two tokens.

So a client that lost the answer to a refresh, or asked twice at once, gets what it would have got.
"""

import hmac
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256

from api.identity.jwt_token import Claims, TokenUse, mint
from api.identity.keyring import Key
from api.state.sessions import RefreshToken
from api.state.users import User


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """How long tokens live: an access token, a refresh token that is not used, and a session whatever happens."""

    access: timedelta = timedelta(minutes=15)
    idle: timedelta = timedelta(days=7)
    session: timedelta = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The answer to a login or refresh; `expires_at` is the Unix time in seconds at which the access token ends."""

    user: User
    access_token: str = field(repr=False)
    refresh_token: str = field(repr=False)
    expires_at: int

    def wire(self) -> dict[str, object]:
        """The JSON shape of the contract."""
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
class Link:
    """One refresh token of a chain with what the database does not keep: its `jti` and the key that signs it."""

    row: RefreshToken
    jti: str = field(repr=False)
    key: Key

    def sign(self, user: User, access: timedelta) -> SignedIn:
        """Both tokens of this point of the chain."""
        row, key = self.row, self.key
        issued_at = int(row.issued_at.timestamp())
        expires_at = issued_at + int(access.total_seconds())
        ends_at = int(row.expires_at.timestamp())
        refresh = Claims(user.id, row.session_id, self.jti, issued_at, ends_at)
        entry = Claims(user.id, row.session_id, _derived(key, "access", self.jti), issued_at, expires_at)
        return SignedIn(user, mint(entry, TokenUse.ACCESS, key), mint(refresh, TokenUse.REFRESH, key), expires_at)


def jti_hash(jti: str) -> str:
    """What a refresh token is known by in the database: the SHA-256 of its `jti`, in hex."""
    return sha256(jti.encode()).hexdigest()


def first_link(session: str, key: Key, now: datetime, expires_at: datetime) -> Link:
    """The beginning of a chain."""
    jti = secrets.token_urlsafe(32)
    return Link(RefreshToken(jti_hash(jti), session, key.kid, now, expires_at), jti, key)


def next_link(spent: Claims, key: Key, now: datetime, expires_at: datetime) -> Link:
    """The link after a refresh token."""
    jti = _derived(key, "refresh", spent.jti)
    row = RefreshToken(jti_hash(jti), spent.session, key.kid, now, expires_at, parent=jti_hash(spent.jti))
    return Link(row, jti, key)


def same_link(spent: Claims, key: Key, row: RefreshToken) -> Link:
    """The link after a refresh token that has one already, as it was made then."""
    return Link(row, _derived(key, "refresh", spent.jti), key)


def _derived(key: Key, purpose: str, jti: str) -> str:
    return hmac.digest(key.secret, f"waypost {purpose} after {jti}".encode(), "sha256").hex()
