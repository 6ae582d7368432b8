"""The tables of sessions and of their chains of refresh tokens.

A session starts with a login and ends with a logout, its expiry, or the second use of a refresh token. Its id is the
`sid` of all its tokens. Of a refresh token only the hash of its `jti` is stored.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, or_, select, update

from api.db.tables import refresh_tokens, sessions


@dataclass(frozen=True, slots=True)
class Session:
    """A login; it cannot be refreshed after `expires_at`, and its access tokens are invalid after `access_until`."""

    id: str
    user_id: int
    created_at: datetime
    expires_at: datetime
    access_until: datetime
    revoked_at: datetime | None = None
    revoked_because: str | None = None
    user_agent: str = ""
    address: str | None = None
    last_seen_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """A refresh token: the data to mint it again, and its use."""

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
    connection.execute(insert(sessions), asdict(session))
    connection.execute(insert(refresh_tokens), asdict(first))


def find_session(connection: Connection, number: str) -> Session | None:
    """Return the session with an id; None if unknown."""
    row = connection.execute(select(sessions).where(sessions.c.id == number)).mappings().one_or_none()
    return None if row is None else Session(**row)


def find_refresh_token(connection: Connection, jti_hash: str) -> RefreshToken | None:
    """Return the refresh token with a hash; None if unknown."""
    query = select(refresh_tokens).where(refresh_tokens.c.jti_hash == jti_hash)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else RefreshToken(**row)


def spend(connection: Connection, jti_hash: str, successor: RefreshToken, access_until: datetime) -> bool:
    """Replace an unused refresh token of an active session by its successor.

    Of all callers with the same token exactly one gets True; the others change nothing.
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
    """Revoke a session; False if it was revoked before or does not exist."""
    statement = update(sessions).where(sessions.c.id == number, sessions.c.revoked_at.is_(None))
    return connection.execute(statement.values(revoked_at=now, revoked_because=because)).rowcount == 1


def revoke_all(connection: Connection, user_id: int, now: datetime, because: str) -> int:
    """Revoke all sessions of a user; return the number of sessions that were active."""
    statement = update(sessions).where(sessions.c.user_id == user_id, sessions.c.revoked_at.is_(None))
    return connection.execute(statement.values(revoked_at=now, revoked_because=because)).rowcount


def revoke_others(connection: Connection, user_id: int, kept: str, now: datetime, because: str) -> int:
    """Revoke all sessions of a user but one; return the number of sessions that were active."""
    others = (sessions.c.user_id == user_id, sessions.c.id != kept, sessions.c.revoked_at.is_(None))
    statement = update(sessions).where(*others)
    return connection.execute(statement.values(revoked_at=now, revoked_because=because)).rowcount


def list_open(
    connection: Connection, user_id: int, now: datetime, limit: int, offset: int
) -> tuple[list[Session], int]:
    """Return a window of the sessions of a user that have a valid token, the last used first, and their total number."""
    is_open = (sessions.c.user_id == user_id, *_is_open(now))
    total = int(connection.execute(select(func.count()).select_from(sessions).where(*is_open)).scalar_one())
    last_used = func.coalesce(sessions.c.last_seen_at, sessions.c.created_at).desc()
    query = select(sessions).where(*is_open).order_by(last_used, sessions.c.id).limit(limit).offset(offset)
    return [Session(**row) for row in connection.execute(query).mappings()], total


def find_open(connection: Connection, number: str, user_id: int, now: datetime) -> Session | None:
    """Return a session of a user that has a valid token; None if there is none."""
    query = select(sessions).where(sessions.c.id == number, sessions.c.user_id == user_id, *_is_open(now))
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else Session(**row)


def note_seen(connection: Connection, seen: Mapping[str, datetime]) -> None:
    """Record the last use of sessions; an earlier time never replaces a later one."""
    later = or_(sessions.c.last_seen_at.is_(None), sessions.c.last_seen_at < bindparam("seen_at"))
    statement = update(sessions).where(sessions.c.id == bindparam("session"), later)
    rows = [{"session": number, "seen_at": moment} for number, moment in seen.items()]
    if rows:
        connection.execute(statement.values(last_seen_at=bindparam("seen_at")), rows)


def note_client(connection: Connection, number: str, values: Mapping[str, object]) -> None:
    """Set the `user_agent`, `address` and `last_seen_at` of a session."""
    connection.execute(update(sessions).where(sessions.c.id == number).values(**values))


def live_sessions(connection: Connection, now: datetime) -> dict[str, int]:
    """Return the users of the sessions with valid access tokens, by the ids of the sessions."""
    query = select(sessions.c.id, sessions.c.user_id).where(*_is_live(now))
    return {row.id: row.user_id for row in connection.execute(query)}


def live_session_user(connection: Connection, number: str, now: datetime) -> int | None:
    """Return the user of a session with a valid access token; None if there is no such session."""
    query = select(sessions.c.user_id).where(sessions.c.id == number, *_is_live(now))
    found: int | None = connection.execute(query).scalar_one_or_none()
    return found


def _is_live(now: datetime) -> tuple[ColumnElement[bool], ...]:
    return sessions.c.revoked_at.is_(None), sessions.c.access_until > now


def _is_open(now: datetime) -> tuple[ColumnElement[bool], ...]:
    """Return the condition of sessions with a valid token, be it for access or for refresh."""
    unused = select(refresh_tokens.c.session_id).where(
        refresh_tokens.c.session_id == sessions.c.id,
        refresh_tokens.c.used_at.is_(None),
        refresh_tokens.c.expires_at > now,
    )
    can_refresh = (sessions.c.expires_at > now) & unused.exists()
    return sessions.c.revoked_at.is_(None), or_(sessions.c.access_until > now, can_refresh)


def sweep(connection: Connection, now: datetime) -> int:
    """Remove expired refresh tokens, and sessions without a valid token; return the number of sessions removed."""
    connection.execute(delete(refresh_tokens).where(refresh_tokens.c.expires_at <= now))
    over = delete(sessions).where(sessions.c.expires_at <= now, sessions.c.access_until <= now)
    return connection.execute(over).rowcount
