"""Personal tokens: API tokens with which a person works where no login is possible, as with Git.

Their grants are a part of those of their owner: what the account loses, its tokens lose at once. All calls block: run them in
threads.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import Principal, PrincipalKind
from api.auth.permissions.roles import grants_by_role, grants_of
from api.auth.permissions.table import read_again
from api.auth.permissions.writer import check_grants_held, require_person
from api.auth.tokens.new_token import IssuedToken, NewToken, revoke, rotate
from api.db import audit
from api.db.accounts import tokens, users
from api.db.accounts.tokens import ApiToken
from api.db.accounts.users import User
from api.db.audit import AuditEntry, AuditEvent
from api.db.database import Connection
from api.db.state_store import StateStore
from api.db.timestamps import Clock, utc_now
from api.errors import ApiError, Forbidden
from content.records.problem import Problem

MAX_TOKENS = 100  # of one person: each is in the memory of every worker


@dataclass(frozen=True, slots=True)
class PersonalTokens:
    """The operations on the personal tokens of a user, on behalf of the user or the operator.

    `lifetime` is the longest time from the creation of a token to its expiry.
    """

    state: StateStore
    clock: Clock = utc_now
    lifetime: timedelta = timedelta(days=366)

    def create(self, actor: Principal, user: int, new: NewToken) -> IssuedToken:
        """Create a token; 403 for grants that the user lacks, 409 for too many tokens, 422 for invalid fields."""
        _check(actor, user)
        now = self.clock()
        with self.state.changing() as connection:
            read_again(connection, actor, now)
            new.check(connection, now, self.lifetime)
            owner = users.find_user(connection, user)
            holder = "" if actor.is_account(user) else owner.username
            check_grants_held(_held_by(connection, owner), new.all_grants(connection), holder)
            if tokens.list_tokens(connection, 0, 0, user)[1] >= MAX_TOKENS:
                message = f"{owner.username} has {MAX_TOKENS} personal tokens, the maximum. Remove one."
                raise ApiError(409, "too_many_tokens", message)
            token, value = new.mint(now, actor.name, user)
            number = tokens.add_token(connection, token)
            detail = {**new.detail(number), "owner": owner.username}
            audit.record(connection, AuditEntry(now, AuditEvent.TOKEN_CREATED, actor.actor(), new.name, detail))
            return IssuedToken(tokens.find_token(connection, number), value)

    def rotate(self, actor: Principal, user: int, number: int, overlap: timedelta) -> IssuedToken:
        """Give a token of the user a new value; the old one is valid for the `overlap`. 409 for an expired token."""
        _check(actor, user)
        with self.state.changing() as connection:
            read_again(connection, actor, self.clock())
            return rotate(connection, actor, tokens.find_token(connection, number, user), self.clock(), overlap)

    def remove(self, actor: Principal, user: int, number: int) -> None:
        """Remove a token of the user; NotFound if they have no such token."""
        _check(actor, user)
        with self.state.changing() as connection:
            read_again(connection, actor, self.clock())
            revoke(connection, actor.actor(), tokens.find_token(connection, number, user), self.clock())

    def window(self, user: int, limit: int, offset: int) -> tuple[list[ApiToken], int]:
        """Return a window of the user's tokens, and their total number; NotFound for no user."""
        with self.state.database.reading() as connection:
            users.find_user(connection, user)
            return tokens.list_tokens(connection, limit, offset, user)

    def problems(self, new: NewToken, skipped: Collection[str]) -> list[Problem]:
        """Return the problems of the fields of a new token that no schema finds, but of the `skipped` ones."""
        with self.state.database.reading() as connection:
            return new.problems(connection, self.clock(), self.lifetime, skipped)


def remove_all(connection: Connection, actor: Principal, user: int, now: datetime) -> None:
    """Remove the personal tokens of a user whose account ends."""
    for token in tokens.list_tokens(connection, MAX_TOKENS, 0, user)[0]:
        revoke(connection, actor.actor(), token, now, "the account of its owner ended")


def _check(actor: Principal, user: int) -> None:
    require_person(actor, "create, rotate or remove API tokens")
    if actor.kind is PrincipalKind.USER and not actor.is_account(user):
        raise Forbidden("These are the tokens of another user.")


def _held_by(connection: Connection, owner: User) -> tuple[Grant, ...]:
    """Return the grants of the owner as the database has them now."""
    if not owner.active:
        raise Forbidden(f"The account of {owner.username} is not active.")
    return grants_of(grants_by_role(connection), owner.roles)
