"""API tokens: create, rotate and remove them, each with its permission check. All calls block: run them in threads."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from api.auth.permissions.grants import Grant
from api.auth.permissions.principal import Principal, PrincipalKind
from api.auth.permissions.writer import check_grants_held, read_writer, require_person
from api.auth.tokens.new_token import IssuedToken, NewToken, current_grants, revoke, rotate
from api.db import audit
from api.db.accounts import tokens
from api.db.accounts.tokens import ApiToken
from api.db.audit import AuditEntry, AuditEvent
from api.db.state_store import StateStore
from api.db.timestamps import Clock, utc_now
from api.errors import Forbidden
from content.records.problem import Problem

_AT_ONCE = timedelta(0)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The operations on API tokens, each on behalf of a principal."""

    state: StateStore
    clock: Clock = utc_now

    def create(
        self,
        actor: Principal,
        name: str,
        grants: Sequence[Grant],
        expires_at: datetime | None = None,
        role: str | None = None,
    ) -> IssuedToken:
        """Create a token; 403 for grants beyond the actor's own, 422 for invalid grants or a past expiry time."""
        require_person(actor, "create API tokens")
        now, new = self.clock(), NewToken(name, grants, expires_at, role)
        token, value = new.mint(now, actor.name)
        with self.state.changing() as connection:
            actor = read_writer(connection, actor, now, "token")
            new.check(connection, now)
            check_grants_held(actor.grants, new.all_grants(connection))
            number = tokens.add_token(connection, token)
            entry = AuditEntry(now, AuditEvent.TOKEN_CREATED, actor.actor(), name, new.detail(number))
            audit.record(connection, entry)
            return IssuedToken(tokens.find_token(connection, number), value)

    def problems(self, new: NewToken, skipped: Collection[str]) -> list[Problem]:
        """Return the problems of the fields of a new token that no schema finds, but of the `skipped` ones."""
        with self.state.database.reading() as connection:
            return new.problems(connection, self.clock(), skipped=skipped)

    def rotate(self, actor: Principal, number: int, overlap: timedelta = _AT_ONCE) -> IssuedToken:
        """Give a token a new value; the old one is valid for the `overlap`, then rejected.

        403 for a token beyond the actor's grants, and for the personal token of another person; 409 for an expired token.
        """
        require_person(actor, "rotate API tokens")
        with self.state.changing() as connection:
            actor = read_writer(connection, actor, self.clock(), "token")
            token = tokens.find_token(connection, number)
            if token.owner_id and actor.kind is PrincipalKind.USER and not actor.is_account(token.owner_id):
                raise Forbidden("This is a personal token: only its owner can rotate it. You can remove it.")
            if token.owner_id is None:
                check_grants_held(actor.grants, current_grants(connection, token))
            return rotate(connection, actor, token, self.clock(), overlap)

    def remove(self, actor: Principal, number: int) -> None:
        """Remove a token; it is rejected from then on."""
        require_person(actor, "remove API tokens")
        with self.state.changing() as connection:
            actor = read_writer(connection, actor, self.clock(), "token")
            revoke(connection, actor.actor(), tokens.find_token(connection, number), self.clock())

    def find(self, number: int) -> ApiToken:
        """Return a token; NotFound if it does not exist."""
        with self.state.database.reading() as connection:
            return tokens.find_token(connection, number)

    def window(self, limit: int, offset: int) -> tuple[list[ApiToken], int]:
        """Return a window of the tokens, and their total number."""
        with self.state.database.reading() as connection:
            return tokens.list_tokens(connection, limit, offset)
