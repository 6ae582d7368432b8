"""The table of API tokens: the hash of a token's value, never the value."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, delete, func, insert, or_, select, update

from api.db.accounts.roles import GrantRow, dump_grants, load_grants
from api.db.tables import api_tokens, users
from gitstore.errors import NotFound


@dataclass(frozen=True, slots=True)
class ApiToken:
    """An API token; `hash` is the SHA-256 of its value in hex, `id` is 0 until it is stored.

    `owner_id` and `owner` are the user of a personal token. `previous_hash` is that of the value before the last rotation, valid
    until `previous_until`.
    """

    name: str
    hash: str
    preview: str
    grants: tuple[GrantRow, ...]
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    id: int = 0
    owner_id: int | None = None
    owner: str = ""
    role: str | None = None
    previous_hash: str | None = None
    previous_until: datetime | None = None


_TOKENS = select(api_tokens, users.c.username).outerjoin(users, users.c.id == api_tokens.c.owner_id)


def add_token(connection: Connection, token: ApiToken) -> int:
    """Store a new token and return its id."""
    row = {
        "name": token.name,
        "hash": token.hash,
        "preview": token.preview,
        "grants": dump_grants(token.grants),
        "expires_at": token.expires_at,
        "created_at": token.created_at,
        "created_by": token.created_by,
        "owner_id": token.owner_id,
        "role": token.role,
    }
    return int(connection.execute(insert(api_tokens).values(row).returning(api_tokens.c.id)).scalar_one())


def find_token(connection: Connection, number: int, owner: int | None = None) -> ApiToken:
    """Return the token with an id; NotFound if it does not exist, or is not one of the `owner`, if given."""
    row = connection.execute(_TOKENS.where(api_tokens.c.id == number)).one_or_none()
    if row is None or owner not in {None, row.owner_id}:
        raise NotFound(f"API token {number} does not exist.")
    return _token(row)


def list_tokens(
    connection: Connection, limit: int, offset: int, owner: int | None = None
) -> tuple[list[ApiToken], int]:
    """Return a window of the tokens, or of the personal ones of an `owner`, oldest first, and their total number."""
    wanted = [] if owner is None else [api_tokens.c.owner_id == owner]
    total = int(connection.execute(select(func.count()).select_from(api_tokens).where(*wanted)).scalar_one())
    rows = connection.execute(_TOKENS.where(*wanted).order_by(api_tokens.c.id).limit(limit).offset(offset))
    return [_token(row) for row in rows], total


def all_tokens(connection: Connection) -> list[ApiToken]:
    """Return all tokens, expired ones too."""
    return [_token(row) for row in connection.execute(_TOKENS)]


def find_live_tokens(connection: Connection, numbers: Collection[int], now: datetime) -> list[ApiToken]:
    """Return the tokens with these ids that have not expired."""
    query = _TOKENS.where(_alive(now), api_tokens.c.id.in_(numbers))
    return [_token(row) for row in connection.execute(query)] if numbers else []


def find_by_hashes(connection: Connection, hashes: Collection[str], now: datetime) -> list[ApiToken]:
    """Return the tokens of which one of these hashes is that of a value that is valid now."""
    previous = and_(api_tokens.c.previous_hash.in_(hashes), _previous_alive(now))
    query = _TOKENS.where(_alive(now), or_(api_tokens.c.hash.in_(hashes), previous))
    return [_token(row) for row in connection.execute(query.order_by(api_tokens.c.id))]


def list_live_hashes(connection: Connection, now: datetime) -> set[str]:
    """Return the hashes of all values that are valid now."""
    current = select(api_tokens.c.hash).where(_alive(now))
    previous = select(api_tokens.c.previous_hash).where(_alive(now), _previous_alive(now))
    return {each for query in (current, previous) for each in connection.execute(query).scalars()}


def rotate_token(
    connection: Connection, number: int, hashed: str, preview: str, previous_until: datetime | None = None
) -> None:
    """Give a token another value; the one that it had is valid until `previous_until`, and any earlier one no more."""
    previous = api_tokens.c.hash if previous_until else None
    values = {"hash": hashed, "preview": preview, "previous_hash": previous, "previous_until": previous_until}
    connection.execute(update(api_tokens).where(api_tokens.c.id == number).values(values))


def remove_token(connection: Connection, number: int) -> bool:
    """Remove a token; return whether there was one."""
    return connection.execute(delete(api_tokens).where(api_tokens.c.id == number)).rowcount > 0


def note_uses(connection: Connection, uses: Mapping[int, datetime]) -> None:
    """Record the last use of tokens; an earlier time never replaces a later one."""
    later = or_(api_tokens.c.last_used_at.is_(None), api_tokens.c.last_used_at < bindparam("used_at"))
    statement = update(api_tokens).where(api_tokens.c.id == bindparam("token_id"), later)
    rows = [{"token_id": number, "used_at": moment} for number, moment in uses.items()]
    if rows:
        connection.execute(statement.values(last_used_at=bindparam("used_at")), rows)


def _alive(now: datetime) -> ColumnElement[bool]:
    return or_(api_tokens.c.expires_at.is_(None), api_tokens.c.expires_at > now)


def _previous_alive(now: datetime) -> ColumnElement[bool]:
    return api_tokens.c.previous_until > now


def _token(row: Row[Any]) -> ApiToken:
    return ApiToken(
        row.name,
        row.hash,
        row.preview,
        load_grants(row.grants),
        row.created_at,
        row.created_by,
        row.expires_at,
        row.last_used_at,
        row.id,
        row.owner_id,
        row.username or "",
        row.role,
        row.previous_hash,
        row.previous_until,
    )
