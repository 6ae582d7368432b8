"""The table of API tokens: the hash of a token's value, never the value."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, bindparam, delete, func, insert, or_, select, update

from api.db.accounts.roles import GrantRow, dump_grants, load_grants
from api.db.tables import api_tokens
from gitstore.errors import NotFound


@dataclass(frozen=True, slots=True)
class ApiToken:
    """An API token; `hash` is the SHA-256 of its value in hex, `id` is 0 until it is stored."""

    name: str
    hash: str
    preview: str
    grants: tuple[GrantRow, ...]
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    last_used_at: datetime | None = None
    id: int = 0


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
    }
    return int(connection.execute(insert(api_tokens).values(row).returning(api_tokens.c.id)).scalar_one())


def find_token(connection: Connection, number: int) -> ApiToken:
    """Return the token with an id; NotFound if it does not exist."""
    row = connection.execute(select(api_tokens).where(api_tokens.c.id == number)).one_or_none()
    if row is None:
        raise _missing(number)
    return _token(row)


def list_tokens(connection: Connection, limit: int, offset: int) -> tuple[list[ApiToken], int]:
    """Return a window of the tokens, oldest first, and their total number."""
    total = int(connection.execute(select(func.count()).select_from(api_tokens)).scalar_one())
    rows = connection.execute(select(api_tokens).order_by(api_tokens.c.id).limit(limit).offset(offset))
    return [_token(row) for row in rows], total


def all_tokens(connection: Connection) -> list[ApiToken]:
    """Return all tokens, expired ones too."""
    return [_token(row) for row in connection.execute(select(api_tokens))]


def find_live_tokens(connection: Connection, numbers: Collection[int], now: datetime) -> list[ApiToken]:
    """Return the tokens with these ids that have not expired."""
    query = select(api_tokens).where(_alive(now), api_tokens.c.id.in_(numbers))
    return [_token(row) for row in connection.execute(query)] if numbers else []


def find_live_hash(connection: Connection, hashes: Collection[str], now: datetime) -> str | None:
    """Return one of these hashes that is that of a token that has not expired; None if none is."""
    query = select(api_tokens.c.hash).where(_alive(now), api_tokens.c.hash.in_(hashes)).limit(1)
    return connection.execute(query).scalar()


def rotate_token(connection: Connection, number: int, hashed: str, preview: str) -> None:
    """Give a token another value; the earlier one is invalid from then on."""
    connection.execute(update(api_tokens).where(api_tokens.c.id == number).values(hash=hashed, preview=preview))


def remove_token(connection: Connection, number: int) -> None:
    """Remove a token; NotFound if it does not exist."""
    if connection.execute(delete(api_tokens).where(api_tokens.c.id == number)).rowcount == 0:
        raise _missing(number)


def note_uses(connection: Connection, uses: Mapping[int, datetime]) -> None:
    """Record the last use of tokens; an earlier time never replaces a later one."""
    later = or_(api_tokens.c.last_used_at.is_(None), api_tokens.c.last_used_at < bindparam("used_at"))
    statement = update(api_tokens).where(api_tokens.c.id == bindparam("token_id"), later)
    rows = [{"token_id": number, "used_at": moment} for number, moment in uses.items()]
    if rows:
        connection.execute(statement.values(last_used_at=bindparam("used_at")), rows)


def _alive(now: datetime) -> ColumnElement[bool]:
    return or_(api_tokens.c.expires_at.is_(None), api_tokens.c.expires_at > now)


def _missing(number: int) -> NotFound:
    return NotFound(f"API token {number} does not exist.")


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
    )
