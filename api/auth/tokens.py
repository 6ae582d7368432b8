"""API tokens: create, rotate and remove them, each with its permission check. All calls block: run them in threads."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import schemas
from api.auth import api_token
from api.auth.grants import Grant, grant_problems, missing
from api.auth.principal import Principal
from api.auth.roles import load_grants
from api.db import audit
from api.db.accounts import tokens
from api.db.accounts.tokens import ApiToken
from api.db.audit import AuditEntry, AuditEvent
from api.db.state_store import StateStore
from api.db.timestamps import Clock, utc_now
from api.errors import ApiError, Forbidden, invalid
from content.records.problem import Problem


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new API token with its value; the value is not stored."""

    token: ApiToken
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The operations on API tokens, each on behalf of a principal."""

    state: StateStore
    clock: Clock = utc_now

    def create(
        self, actor: Principal, name: str, grants: Sequence[Grant], expires_at: datetime | None = None
    ) -> IssuedToken:
        """Create a token; 403 for grants beyond the actor's own, 422 for invalid grants or a past expiry time."""
        shape = {"name": name, "grants": [grant.wire() for grant in grants]}
        _raise_problems(schemas.check("token-create", shape))
        self._check(actor, grants, expires_at)
        now, minted = self.clock(), api_token.mint()
        token = ApiToken(name, minted.hash, minted.preview, tuple(dict.fromkeys(grants)), now, actor.name, expires_at)
        with self.state.changing() as connection:
            number = tokens.add_token(connection, token)
            detail = {"id": number, "grants": [grant.text() for grant in grants]}
            audit.record(connection, AuditEntry(now, AuditEvent.TOKEN_CREATED, actor.actor(), name, detail))
            return IssuedToken(tokens.find_token(connection, number), minted.value)

    def rotate(self, actor: Principal, number: int) -> IssuedToken:
        """Give a token a new value; the old one is rejected from then on. 403 for a token beyond the actor's grants.

        409 for an expired token, since its new value would be useless.
        """
        if not actor.is_person:
            raise Forbidden("An API token cannot rotate API tokens.")
        now, minted = self.clock(), api_token.mint()
        with self.state.changing() as connection:
            token = tokens.find_token(connection, number)
            _check_grants_held(actor, load_grants(token.grants))
            if token.expires_at is not None and token.expires_at <= now:
                raise ApiError(
                    409, "token_expired", "The token has expired. Create a new one; this one can be removed."
                )
            tokens.rotate_token(connection, number, minted.hash, minted.preview)
            audit.record(
                connection, AuditEntry(now, AuditEvent.TOKEN_ROTATED, actor.actor(), token.name, {"id": number})
            )
            return IssuedToken(tokens.find_token(connection, number), minted.value)

    def remove(self, actor: Principal, number: int) -> None:
        """Remove a token; it is rejected from then on."""
        if not actor.is_person:
            raise Forbidden("An API token cannot remove API tokens.")
        with self.state.changing() as connection:
            token = tokens.find_token(connection, number)
            tokens.remove_token(connection, number)
            detail = {"id": number}
            audit.record(
                connection, AuditEntry(self.clock(), AuditEvent.TOKEN_REVOKED, actor.actor(), token.name, detail)
            )

    def find(self, number: int) -> ApiToken:
        """Return a token; NotFound if it does not exist."""
        with self.state.database.reading() as connection:
            return tokens.find_token(connection, number)

    def window(self, limit: int, offset: int) -> tuple[list[ApiToken], int]:
        """Return a window of the tokens, and their total number."""
        with self.state.database.reading() as connection:
            return tokens.list_tokens(connection, limit, offset)

    def _check(self, actor: Principal, grants: Sequence[Grant], expires_at: datetime | None) -> None:
        if not actor.is_person:
            raise Forbidden("An API token cannot create API tokens.")
        problems = grant_problems(grants)
        if expires_at is not None and expires_at <= self.clock():
            problems.append(
                Problem("in_the_past", "The expiry time is in the past. Use a later one.", pointer="/expiresAt")
            )
        _raise_problems(problems)
        _check_grants_held(actor, grants)


def _check_grants_held(actor: Principal, grants: Sequence[Grant]) -> None:
    """Refuse to show the value of a token to an actor with fewer grants than the token."""
    missing_grants = missing(actor.grants, grants)
    if missing_grants:
        raise Forbidden(f"You do not have the grant {missing_grants[0].text()} yourself.", "grant_not_held")


def _raise_problems(problems: Sequence[Problem]) -> None:
    if problems:
        raise invalid("Invalid token; see the problems.", problems)
