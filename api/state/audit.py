"""The audit trail: who did what, to what, from where, when. It is only ever added to."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, func, insert, or_, select

from api.state.tables import audit


class Event(StrEnum):
    """What can be in the trail; the names of security events are those of the OWASP logging vocabulary."""

    LOGIN = "authn_login_success"
    LOGIN_FAILED = "authn_login_fail"
    LOGOUT = "authn_logout"
    PASSWORD_CHANGED = "authn_password_change"  # noqa: S105 - the name of an event, no password
    TOKEN_CREATED = "authn_token_created"  # noqa: S105 - as above
    TOKEN_REVOKED = "authn_token_revoked"  # noqa: S105 - as above
    TOKEN_REUSED = "authn_token_reuse"  # noqa: S105 - as above
    USER_CREATED = "user_created"
    USER_UPDATED = "user_updated"
    USER_DELETED = "user_deleted"
    PRIVILEGES_CHANGED = "privilege_permissions_changed"
    REVIEW_REQUESTED = "review_requested"
    DRAFT_APPROVED = "draft_approved"
    DRAFT_REJECTED = "draft_rejected"
    OVERRIDE_ASKED = "approval_override_asked"
    APPROVAL_OVERRIDDEN = "approval_overridden"
    TOKEN_ROTATED = "authn_token_rotated"  # noqa: S105 - the name of an event, no secret
    ROLE_CREATED = "role_created"
    ROLE_CHANGED = "role_changed"
    ROLE_DELETED = "role_deleted"
    WEBHOOK_CREATED = "webhook_created"
    WEBHOOK_CHANGED = "webhook_changed"
    WEBHOOK_DELETED = "webhook_deleted"
    WEBHOOK_SECRET_ROTATED = "webhook_secret_rotated"  # noqa: S105 - the name of an event, no secret


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it: `kind` is user, token or operator (the command line)."""

    kind: str
    id: int | None
    name: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the trail; `detail` holds no secrets, `address` is the caller's network address if known.

    `id` is 0 until it is stored.
    """

    at: datetime
    event: str
    actor: Actor
    subject: str
    detail: Mapping[str, object] = field(default_factory=dict)
    namespace: str | None = None
    project: str | None = None
    address: str | None = None
    id: int = 0


class Wanted(NamedTuple):
    """Which lines are asked for: None for any. `since` is the first moment, `until` the first that is too late.

    `actor` is a name; `operator` is everybody at the command line, whatever they are called there.
    """

    event: str | None = None
    actor: str | None = None
    namespace: str | None = None
    project: str | None = None
    since: datetime | None = None
    until: datetime | None = None


OPERATOR_KIND = "operator"
"""The kind of an actor at the command line."""
_ALL = Wanted()
_LARGEST = 2**31 - 1
"""The largest id that there can be; whoever writes commits may name any number."""


def record(connection: Connection, entry: Entry) -> None:
    """Add a line, in the transaction of what it tells about."""
    row = asdict(entry)
    actor = row.pop("actor")
    del row["id"]
    connection.execute(
        insert(audit).values(**row, actor_kind=actor["kind"], actor_id=actor["id"], actor_name=actor["name"])
    )


def token_makers(connection: Connection, tokens: Collection[int]) -> dict[int, frozenset[int]]:
    """The users who were shown the value of each of these API tokens, when they made or rotated it, by the token's id.

    The operator is left out. From the trail, for it also knows tokens that were removed since.
    """
    tokens = [number for number in tokens if number <= _LARGEST]
    number = audit.c.detail["id"].as_integer()
    shown = audit.c.event.in_([Event.TOKEN_CREATED, Event.TOKEN_ROTATED])
    made = select(number, audit.c.actor_id).where(shown, audit.c.actor_kind == "user")
    found: dict[int, frozenset[int]] = {}
    for token, maker in connection.execute(made.where(number.in_(tokens))) if tokens else ():
        found[token] = found.get(token, frozenset()) | {maker}
    return found


def list_entries(connection: Connection, limit: int, offset: int, wanted: Wanted = _ALL) -> tuple[list[Entry], int]:
    """A window of the lines that are wanted, newest first, and how many of them there are."""
    conditions = list(_conditions(wanted))
    total = int(connection.execute(select(func.count()).select_from(audit).where(*conditions)).scalar_one())
    newest = select(audit).where(*conditions).order_by(audit.c.id.desc())
    rows = connection.execute(newest.limit(limit).offset(offset))
    return [
        Entry(
            row.at,
            row.event,
            Actor(row.actor_kind, row.actor_id, row.actor_name),
            row.subject,
            row.detail,
            row.namespace,
            row.project,
            row.address,
            row.id,
        )
        for row in rows
    ], total


def _conditions(wanted: Wanted) -> Iterator[ColumnElement[bool]]:
    columns = {"event": "event", "namespace": "namespace", "project": "project"}
    for name, column in columns.items():
        if getattr(wanted, name) is not None:
            yield audit.c[column] == getattr(wanted, name)
    if wanted.actor is not None:
        by_name = audit.c.actor_name == wanted.actor
        yield or_(by_name, audit.c.actor_kind == OPERATOR_KIND) if wanted.actor == OPERATOR_KIND else by_name
    if wanted.since:
        yield audit.c.at >= wanted.since
    if wanted.until:
        yield audit.c.at < wanted.until
