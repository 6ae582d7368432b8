"""An in-memory snapshot of identities: API tokens, active users and their sessions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from api.auth.permissions.grants import Grant, common
from api.auth.permissions.principal import Principal, PrincipalKind
from api.auth.permissions.roles import grants_by_role, grants_of, load_grants
from api.db.accounts import sessions, tokens, users
from api.db.audit_caller import UsedToken
from api.db.database import Connection
from api.db.generation import read_generation
from api.errors import Unauthenticated


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """A value of an API token in the snapshot; it may have expired. `id` is that of the token.

    `is_replaced` if a rotation ends the value before the token itself ends.
    """

    id: int
    principal: Principal
    expires_at: datetime | None
    is_replaced: bool = False


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
    people = {user.id: user_principal(user, role_grants) for user in users.active_users(connection)}
    return IdentitySnapshot(
        read_generation(connection),
        dict(_entries(tokens.all_tokens(connection), role_grants, people)),
        people,
        sessions.live_sessions(connection, now),
    )


def user_principal(user: users.User, role_grants: Mapping[str, tuple[Grant, ...]]) -> Principal:
    """Return a user as a principal with the grants of their roles; `role_grants` has the grants of roles by name."""
    display_name = f"{user.firstname} {user.lastname}".strip() or user.username
    return Principal(PrincipalKind.USER, user.id, user.username, display_name, grants_of(role_grants, user.roles))


def read_again(connection: Connection, caller: Principal, now: datetime) -> Principal:
    """Return a caller with the grants that this transaction sees; Unauthenticated if its account or session has ended.

    For calls that wait after they were admitted, for a password's hash or for the lock of the database.
    """
    if caller.kind is not PrincipalKind.USER or not caller.is_person:
        return caller
    found = users.find_active_users(connection, [caller.id])
    is_ended = caller.session and sessions.live_session_user(connection, caller.session, now) != caller.id
    if not found or is_ended:
        raise Unauthenticated
    return user_principal(found[0], grants_by_role(connection)).in_session(caller.session)


def token_principal(
    token: tokens.ApiToken, role_grants: Mapping[str, tuple[Grant, ...]], people: Mapping[int, Principal]
) -> Principal | None:
    """Return an API token as a principal with its own grants and those of its role.

    A personal one is its user among the active `people`, with those of these grants that the user has; None without the user.
    """
    own = tuple(dict.fromkeys((*load_grants(token.grants), *role_grants.get(token.role or "", ()))))
    if token.owner_id is None:
        return Principal(PrincipalKind.TOKEN, token.id, token.name, token.name, own)
    owner = people.get(token.owner_id)
    return owner and replace(owner, grants=common(own, owner.grants), token=UsedToken(token.id, token.name))


def _entries(
    found: Iterable[tokens.ApiToken], role_grants: Mapping[str, tuple[Grant, ...]], people: Mapping[int, Principal]
) -> Iterator[tuple[str, TokenEntry]]:
    """Yield the entry of each value that a token has or had before its last rotation, by the hash of the value."""
    for token in found:
        principal = token_principal(token, role_grants, people)
        if principal is None:
            continue
        yield token.hash, TokenEntry(token.id, principal, token.expires_at)
        if token.previous_hash and token.previous_until:
            is_replaced = token.expires_at is None or token.previous_until < token.expires_at
            ends = token.previous_until if is_replaced else token.expires_at
            yield token.previous_hash, TokenEntry(token.id, principal, ends, is_replaced)
