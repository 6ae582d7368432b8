"""One state of identities in memory: every live token, active user and ended session."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from api.identity.grants import Grant
from api.identity.principal import Principal, PrincipalKind
from api.identity.roles import grants_by_role, grants_of, load_grants
from api.state import sessions, tokens, users
from api.state.database import Connection
from api.state.generation import read_generation


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of an API token."""

    principal: Principal
    expires_at: datetime | None


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Table:
    """Tokens by the hash of their value, users by id, and the sessions that ended early; never changed, only replaced."""

    number: int
    tokens: Mapping[str, Entry]
    users: Mapping[int, Principal]
    revoked: frozenset[str]


def read_table(connection: Connection, now: datetime) -> Table:
    """The table as this transaction sees it."""
    held = grants_by_role(connection)
    return Table(
        read_generation(connection),
        {token.hash: _entry(token) for token in tokens.live_tokens(connection, now)},
        {user.id: user_principal(user, held) for user in users.active_users(connection)},
        sessions.revoked_sessions(connection, now),
    )


def user_principal(user: users.User, held: Mapping[str, tuple[Grant, ...]]) -> Principal:
    """A user as a principal, with the grants of their roles; `held` has the grants of each role by its name."""
    display_name = f"{user.firstname} {user.lastname}".strip() or user.username
    return Principal(PrincipalKind.USER, user.id, user.username, display_name, grants_of(held, user.roles))


def token_principal(token: tokens.ApiToken) -> Principal:
    """An API token as a principal, with its own grants."""
    return Principal(PrincipalKind.TOKEN, token.id, token.name, token.name, load_grants(token.grants))


def _entry(token: tokens.ApiToken) -> Entry:
    return Entry(token_principal(token), token.expires_at)
