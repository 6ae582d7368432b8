"""New API tokens and new values of tokens: the checks and steps that service tokens and personal ones share."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import schemas
from api.auth.permissions.grants import Grant, grant_problems
from api.auth.permissions.principal import Principal
from api.auth.permissions.roles import grants_by_role, grants_of, load_grants
from api.auth.tokens import api_token
from api.db import audit
from api.db.accounts import tokens
from api.db.accounts.tokens import ApiToken
from api.db.audit import Actor, AuditEntry, AuditEvent
from api.db.audit_caller import Caller
from api.db.database import Connection
from api.errors import ApiError, invalid
from content.records.problem import Problem

MAX_OVERLAP = 30 * 86_400  # seconds


@dataclass(frozen=True, slots=True)
class NewToken:
    """The fields of a new token: its own grants, and a role whose grants it has too, as they are at any time."""

    name: str
    grants: Sequence[Grant] = ()
    expires_at: datetime | None = None
    role: str | None = None

    def check(self, connection: Connection, now: datetime, lifetime: timedelta | None = None) -> None:
        """Raise 422 with all problems of the fields, also if they do not come over HTTP; `lifetime` as in `problems`."""
        grants = {"grants": [grant.wire() for grant in self.grants]} if self.grants else {}
        found = schemas.check("token-create", {"name": self.name, "role": self.role, **grants})
        raise_problems([*found, *self.problems(connection, now, lifetime, schemas.invalid_fields(found))])

    def problems(
        self, connection: Connection, now: datetime, lifetime: timedelta | None = None, skipped: Collection[str] = ()
    ) -> list[Problem]:
        """Return the problems that no schema finds, but of the `skipped` fields; it must expire within a `lifetime`."""
        found = {
            "grants": grant_problems(self.grants) if self.grants else self._lack_of_grants(skipped),
            "role": _role_problems(self.role, grants_by_role(connection)),
            "expiresAt": _expiry_problems(self.expires_at, now, lifetime),
        }
        return [problem for name, problems in found.items() if name not in skipped for problem in problems]

    def _lack_of_grants(self, skipped: Collection[str]) -> list[Problem]:
        if self.role is not None or "role" in skipped:
            return []
        return [Problem("invalid_grant", "The token has no grants. Give it grants or a role.", pointer="/grants")]

    def all_grants(self, connection: Connection) -> tuple[Grant, ...]:
        """Return all its grants as they are now."""
        return (*self.grants, *(grants_of(grants_by_role(connection), [self.role]) if self.role else ()))

    def mint(self, now: datetime, created_by: str, owner: int | None = None) -> tuple[ApiToken, str]:
        """Return the token with a new value."""
        minted, given = api_token.mint(), tuple(dict.fromkeys(self.grants))
        token = ApiToken(
            self.name,
            minted.hash,
            minted.preview,
            given,
            now,
            created_by,
            self.expires_at,
            owner_id=owner,
            role=self.role,
        )
        return token, minted.value

    def detail(self, number: int) -> dict[str, object]:
        """Return the detail of the audit entry."""
        role = {} if self.role is None else {"role": self.role}
        return {"id": number, "grants": [grant.text() for grant in self.grants], **role}


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """An API token with its new value; the value is not stored."""

    token: ApiToken
    value: str = field(repr=False)


def rotate(connection: Connection, actor: Principal, token: ApiToken, now: datetime, overlap: timedelta) -> IssuedToken:
    """Give a token a new value; the one that it has is valid for the `overlap`, at most until the token expires.

    409 for an expired token, since its new value would be useless.
    """
    if token.expires_at is not None and token.expires_at <= now:
        raise ApiError(409, "token_expired", "The token has expired. Create a new one; this one can be removed.")
    if not timedelta(0) <= overlap <= timedelta(seconds=MAX_OVERLAP):
        message = f"The overlap must be from 0 to {MAX_OVERLAP:,} seconds."
        raise_problems([Problem("out_of_range", message, pointer="/overlap")])
    minted, until = api_token.mint(), now + overlap if overlap else None
    tokens.rotate_token(connection, token.id, minted.hash, minted.preview, until)
    detail = {"id": token.id} | ({"overlap": int(overlap.total_seconds())} if overlap else {})
    audit.record(connection, AuditEntry(now, AuditEvent.TOKEN_ROTATED, actor.actor(), token.name, detail))
    return IssuedToken(tokens.find_token(connection, token.id), minted.value)


def current_grants(connection: Connection, token: ApiToken) -> tuple[Grant, ...]:
    """Return the grants of a token and of its role, whatever those of its owner are."""
    role = grants_of(grants_by_role(connection), [token.role]) if token.role else ()
    return (*load_grants(token.grants), *role)


def raise_problems(problems: Sequence[Problem]) -> None:
    """Raise 422 if there are problems."""
    if problems:
        raise invalid("Invalid token; see the problems.", problems)


def _role_problems(role: str | None, known: Collection[str]) -> list[Problem]:
    if role is None or role in known:
        return []
    return [Problem("unknown_role", f"Unknown role '{role}'. Use one of: {', '.join(known)}.", pointer="/role")]


def _expiry_problems(expires_at: datetime | None, now: datetime, lifetime: timedelta | None) -> list[Problem]:
    if expires_at is not None and expires_at <= now:
        return [Problem("in_the_past", "The expiry time is in the past. Use a later one.", pointer="/expiresAt")]
    if lifetime is not None and (expires_at is None or expires_at > now + lifetime):
        most = f"{lifetime.total_seconds() / 86_400:g} days"
        message = f"A personal token must expire within {most}. Use an earlier time."
        return [Problem("out_of_range", message, pointer="/expiresAt")]
    return []


def revoke(
    connection: Connection,
    actor: Actor,
    token: ApiToken,
    now: datetime,
    reason: str = "",
    namespace: str | None = None,
    origin: Caller | None = None,
) -> None:
    """Remove a token, and record it; `namespace` is where it was found, if it leaked, and `origin` the request for it."""
    tokens.remove_token(connection, token.id)
    optional = {"owner": token.owner, "reason": reason}
    detail = {"id": token.id, **{name: text for name, text in optional.items() if text}}
    entry = AuditEntry(now, AuditEvent.TOKEN_REVOKED, actor, token.name, detail, namespace)
    audit.record(connection, entry if origin is None else entry.from_(origin))
