"""Going on with a session: each refresh token is good for one successor.

Whoever sends it again within ten seconds gets that same successor: two tabs may ask at once, and a reply
may be lost. Whoever sends it later holds a copy, so the session ends, for the thief and for the owner.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from api import logs
from api.errors import Unauthenticated
from api.identity.jwt_token import Claims, TokenUse, verify
from api.identity.keyring import Ring
from api.identity.session_tokens import Lifetimes, Link, SignedIn, jti_hash, next_link, same_link
from api.state.audit import Actor, Entry, Event, record
from api.state.database import Connection
from api.state.sessions import Session, find_refresh_token, find_session, revoke, spend
from api.state.state import State
from api.state.users import User, find_user

GRACE = timedelta(seconds=10)

_log = logs.logger("refresh")


@dataclass(frozen=True, slots=True)
class Rotation:
    """What a refresh works with, at one moment."""

    state: State
    ring: Ring
    lifetimes: Lifetimes
    now: datetime

    def refresh(self, token: str, address: str | None = None) -> SignedIn:
        """The tokens after this refresh token; Unauthenticated where it is not good for any, or not any more."""
        claims = verify(token, TokenUse.REFRESH, self.ring, self.now)
        with self.state.database.writing() as connection:
            user, session = _owner(connection, claims)
            link = self._advance(connection, claims, session) or self._repeat(connection, claims)
        if link is None:
            self._end(claims, user, address)
            raise Unauthenticated
        return link.sign(user, self.lifetimes.access)

    def _advance(self, connection: Connection, claims: Claims, session: Session) -> Link | None:
        """The next link, if this call is the one that makes it."""
        expires_at = min(session.expires_at, self.now + self.lifetimes.idle)
        link = next_link(claims, self.ring.signing(self.now), self.now, expires_at)
        spent = spend(connection, jti_hash(claims.jti), link.row, self.now + self.lifetimes.access)
        return link if spent else None

    def _repeat(self, connection: Connection, claims: Claims) -> Link | None:
        """The link that another call has just made; None where the token was used too long ago."""
        used = find_refresh_token(connection, jti_hash(claims.jti))
        if used is None or used.used_at is None or used.successor is None:
            raise Unauthenticated
        if self.now - used.used_at > GRACE:
            return None
        row = find_refresh_token(connection, used.successor)
        key = self.ring.find(row.kid) if row else None
        if row is None or key is None:
            raise Unauthenticated
        return same_link(claims, key, row)

    def _end(self, claims: Claims, user: User, address: str | None) -> None:
        _log.warning(Event.TOKEN_REUSED.value, username=user.username, session=claims.session)
        with self.state.changing() as connection:
            revoke(connection, claims.session, self.now, "refresh token used again")
            actor = Actor("user", user.id, user.username)
            record(connection, Entry(self.now, Event.TOKEN_REUSED, actor, user.username, address=address))


def _owner(connection: Connection, claims: Claims) -> tuple[User, Session]:
    session = find_session(connection, claims.session)
    if session is None or session.revoked_at is not None or session.user_id != claims.user_id:
        raise Unauthenticated
    user = find_user(connection, session.user_id)
    if not user.active:
        raise Unauthenticated
    return user, session
