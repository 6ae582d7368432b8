"""API tokens: who may make, see and remove which. All of it blocks: call it in threads."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import schemas
from api.errors import ApiError, Forbidden, invalid
from api.identity import api_token
from api.identity.grants import Grant, grant_problems, missing
from api.identity.principal import Principal
from api.identity.roles import load_grants
from api.state import audit, tokens
from api.state.audit import Entry, Event
from api.state.moment import Clock, utc_now
from api.state.state import State
from api.state.tokens import ApiToken
from content.problem import Problem


@dataclass(frozen=True, slots=True)
class Issued:
    """A new API token with its value, which exists nowhere else."""

    token: ApiToken
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Everything that is done with API tokens, each time on behalf of a principal."""

    state: State
    clock: Clock = utc_now

    def create(
        self, actor: Principal, name: str, grants: Sequence[Grant], expires_at: datetime | None = None
    ) -> Issued:
        """A new token; 403 for grants beyond the actor's own, 422 for grants or a time that cannot be."""
        shape = {"name": name, "grants": [grant.wire() for grant in grants]}
        _refuse(schemas.check("token-create", shape))
        self._check(actor, grants, expires_at)
        now, minted = self.clock(), api_token.mint()
        token = ApiToken(name, minted.hash, minted.preview, tuple(dict.fromkeys(grants)), now, actor.name, expires_at)
        with self.state.changing() as connection:
            number = tokens.add_token(connection, token)
            detail = {"id": number, "grants": [grant.text() for grant in grants]}
            audit.record(connection, Entry(now, Event.TOKEN_CREATED, actor.actor(), name, detail))
            return Issued(tokens.find_token(connection, number), minted.value)

    def rotate(self, actor: Principal, number: int) -> Issued:
        """The token with a new value; the one before is refused from then on. 403 for a token beyond the actor's grants.

        409 for one that has expired: its new value would be good for nothing.
        """
        if not actor.is_person:
            raise Forbidden("An API token cannot rotate API tokens.")
        now, minted = self.clock(), api_token.mint()
        with self.state.changing() as connection:
            token = tokens.find_token(connection, number)
            _check_gift(actor, load_grants(token.grants))
            if token.expires_at is not None and token.expires_at <= now:
                raise ApiError(409, "token_expired", "The token has expired. Make a new one; this one can be removed.")
            tokens.rotate_token(connection, number, minted.hash, minted.preview)
            audit.record(connection, Entry(now, Event.TOKEN_ROTATED, actor.actor(), token.name, {"id": number}))
            return Issued(tokens.find_token(connection, number), minted.value)

    def remove(self, actor: Principal, number: int) -> None:
        """Remove a token: it is refused from then on."""
        if not actor.is_person:
            raise Forbidden("An API token cannot remove API tokens.")
        with self.state.changing() as connection:
            token = tokens.find_token(connection, number)
            tokens.remove_token(connection, number)
            detail = {"id": number}
            audit.record(connection, Entry(self.clock(), Event.TOKEN_REVOKED, actor.actor(), token.name, detail))

    def find(self, number: int) -> ApiToken:
        """One token; NotFound where there is none."""
        with self.state.database.reading() as connection:
            return tokens.find_token(connection, number)

    def window(self, limit: int, offset: int) -> tuple[list[ApiToken], int]:
        """A window of the tokens, and how many there are."""
        with self.state.database.reading() as connection:
            return tokens.list_tokens(connection, limit, offset)

    def _check(self, actor: Principal, grants: Sequence[Grant], expires_at: datetime | None) -> None:
        if not actor.is_person:
            raise Forbidden("An API token cannot make API tokens.")
        problems = grant_problems(grants)
        if expires_at is not None and expires_at <= self.clock():
            problems.append(Problem("in_the_past", "The token would have expired already.", pointer="/expiresAt"))
        _refuse(problems)
        _check_gift(actor, grants)


def _check_gift(actor: Principal, grants: Sequence[Grant]) -> None:
    """Refuse to show somebody the value of a token that may do more than they."""
    lacking = missing(actor.grants, grants)
    if lacking:
        raise Forbidden(f"You do not hold {lacking[0].text()} yourself.", "grant_not_held")


def _refuse(problems: Sequence[Problem]) -> None:
    if problems:
        raise invalid("The token is not as it must be; the problems say why.", problems)
