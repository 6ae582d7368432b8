"""An in-memory snapshot of identities: API tokens, active users and their sessions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from api.auth.grants import Grant
from api.auth.principal import Principal, PrincipalKind
from api.auth.roles import grants_by_role, grants_of, load_grants
from api.db.accounts import sessions, tokens, users
from api.db.database import Connection
from api.db.generation import read_generation


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """An API token in the snapshot; it may have expired."""

    principal: Principal
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class IdentitySnapshot:
    """Tokens by the hash of their value, users by id, and users of sessions by the session; never changed, only replaced."""

    number: int
    tokens: Mapping[str, TokenEntry]
    users: Mapping[int, Principal]
    sessions: Mapping[str, int]


def read_snapshot(connection: Connection, now: datetime) -> IdentitySnapshot:
    """Read the snapshot that this transaction sees."""
    role_grants = grants_by_role(connection)
    return IdentitySnapshot(
        read_generation(connection),
        {token.hash: _entry(token) for token in tokens.all_tokens(connection)},
        {user.id: user_principal(user, role_grants) for user in users.active_users(connection)},
        sessions.live_sessions(connection, now),
    )


def user_principal(user: users.User, role_grants: Mapping[str, tuple[Grant, ...]]) -> Principal:
    """Return a user as a principal with the grants of their roles; `role_grants` has the grants of roles by name."""
    display_name = f"{user.firstname} {user.lastname}".strip() or user.username
    return Principal(PrincipalKind.USER, user.id, user.username, display_name, grants_of(role_grants, user.roles))


def token_principal(token: tokens.ApiToken) -> Principal:
    """Return an API token as a principal with its own grants."""
    return Principal(PrincipalKind.TOKEN, token.id, token.name, token.name, load_grants(token.grants))


def _entry(token: tokens.ApiToken) -> TokenEntry:
    return TokenEntry(token_principal(token), token.expires_at)
