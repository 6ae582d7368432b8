"""Sessions, and the chain of refresh tokens that each one is, as rows.

A session is made by a login and ends by logout, expiry, or the second use of a refresh token. Its id is
the `sid` of all its tokens. Of a refresh token only the hash of its `jti` is kept.
"""

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select, update

from api.state.tables import refresh_tokens, sessions


@dataclass(frozen=True, slots=True)
class Session:
    """One login; after `expires_at` it cannot be refreshed, and no access token of it outlives `access_until`."""

    id: str
    user_id: int
    created_at: datetime
    expires_at: datetime
    access_until: datetime
    revoked_at: datetime | None = None
    revoked_because: str | None = None


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """One refresh token: what is needed to mint it again, and what became of it."""

    jti_hash: str
    session_id: str
    kid: str
    issued_at: datetime
    expires_at: datetime
    parent: str | None = None
    used_at: datetime | None = None
    successor: str | None = None


def open_session(connection: Connection, session: Session, first: RefreshToken) -> None:
    """Store a new session with its first refresh token."""
    connection.execute(insert(sessions).values(asdict(session)))
    connection.execute(insert(refresh_tokens).values(asdict(first)))


def find_session(connection: Connection, number: str) -> Session | None:
    """The session of an id."""
    row = connection.execute(select(sessions).where(sessions.c.id == number)).mappings().one_or_none()
    return None if row is None else Session(**row)


def find_refresh_token(connection: Connection, jti_hash: str) -> RefreshToken | None:
    """The refresh token of a hash."""
    query = select(refresh_tokens).where(refresh_tokens.c.jti_hash == jti_hash)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else RefreshToken(**row)


def spend(connection: Connection, jti_hash: str, successor: RefreshToken, access_until: datetime) -> bool:
    """Put the successor in the place of a refresh token that was never used, in a session that goes on.

    Of all callers with the same token exactly one is told True; the others change nothing.
    """
    now = successor.issued_at
    alive = (sessions.c.id == successor.session_id, sessions.c.revoked_at.is_(None), sessions.c.expires_at > now)
    if connection.execute(select(sessions.c.id).where(*alive).with_for_update()).one_or_none() is None:
        return False
    unused = update(refresh_tokens).where(
        refresh_tokens.c.jti_hash == jti_hash,
        refresh_tokens.c.session_id == successor.session_id,
        refresh_tokens.c.used_at.is_(None),
        refresh_tokens.c.expires_at > now,
    )
    if connection.execute(unused.values(used_at=now, successor=successor.jti_hash)).rowcount == 0:
        return False
    connection.execute(insert(refresh_tokens).values(asdict(successor)))
    connection.execute(update(sessions).where(sessions.c.id == successor.session_id).values(access_until=access_until))
    return True


def revoke(connection: Connection, number: str, now: datetime, because: str) -> bool:
    """End a session for good; False where it has ended before or never was."""
    statement = update(sessions).where(sessions.c.id == number, sessions.c.revoked_at.is_(None))
    return connection.execute(statement.values(revoked_at=now, revoked_because=because)).rowcount == 1


def revoke_all(connection: Connection, user_id: int, now: datetime, because: str) -> int:
    """End all sessions of a user; gives how many went on until now."""
    statement = update(sessions).where(sessions.c.user_id == user_id, sessions.c.revoked_at.is_(None))
    return connection.execute(statement.values(revoked_at=now, revoked_because=because)).rowcount


def revoked_sessions(connection: Connection, now: datetime) -> frozenset[str]:
    """The sessions that were ended while access tokens of them may still be alive."""
    query = select(sessions.c.id).where(sessions.c.revoked_at.is_not(None), sessions.c.access_until > now)
    return frozenset(connection.execute(query).scalars())


def sweep(connection: Connection, now: datetime) -> int:
    """Forget expired refresh tokens, and sessions of which nothing is alive; gives how many sessions went."""
    connection.execute(delete(refresh_tokens).where(refresh_tokens.c.expires_at <= now))
    over = delete(sessions).where(sessions.c.expires_at <= now, sessions.c.access_until <= now)
    return connection.execute(over).rowcount
