"""Webhooks as rows: where the events of a namespace are sent, and the secret that signs them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from api.state.audit import Actor
from api.state.tables import webhooks
from gitstore.errors import NotFound

GONE = "gone"
"""Why a webhook was switched off: its receiver answered 410."""
GRANT_LOST = "grant_lost"
"""Why a webhook was switched off: whoever answers for it may not read any more what it is sent."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """One webhook; empty `events` or `projects` stand for all. `id` is 0 until it is stored.

    `stopped_because` says why the service switched it off, None where nobody did or a person. Until
    `secret_before_until` what is sent is signed with the secret before the present one, too. `holder` answers for it: it
    is sent only what they may read; None for one that is older than this rule.
    """

    namespace: str
    url: str
    events: tuple[str, ...]
    projects: tuple[str, ...]
    description: str
    active: bool
    secret: str = field(repr=False)
    created_at: datetime
    created_by: str
    stopped_because: str | None = None
    secret_before: str | None = field(default=None, repr=False)
    secret_before_until: datetime | None = None
    id: int = 0
    holder: Actor | None = None

    def secrets(self, now: datetime) -> tuple[str, ...]:
        """What a message is signed with now: one signature for each."""
        before, until = self.secret_before, self.secret_before_until
        return (self.secret, before) if before and until and now < until else (self.secret,)

    def wants(self, project: str, event: str) -> bool:
        """Tell whether it is sent this event of this project; an empty project is the namespace itself."""
        return (not self.events or event in self.events) and (not self.projects or project in self.projects)


def add_webhook(connection: Connection, webhook: Webhook) -> int:
    """Store a new webhook and give its id."""
    row = {
        "namespace": webhook.namespace,
        "url": webhook.url,
        "events": list(webhook.events),
        "projects": list(webhook.projects),
        "description": webhook.description,
        "active": webhook.active,
        "secret": webhook.secret,
        "created_at": webhook.created_at,
        "created_by": webhook.created_by,
        **(dump_holder(webhook.holder) if webhook.holder else {}),
    }
    return int(connection.execute(insert(webhooks).values(row).returning(webhooks.c.id)).scalar_one())


def find_webhook(connection: Connection, namespace: str, number: int) -> Webhook:
    """The webhook of an id in a namespace; NotFound where there is none."""
    query = select(webhooks).where(webhooks.c.id == number, webhooks.c.namespace == namespace)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise NotFound(f"There is no webhook {number} in this namespace.")
    return load_webhook(row)


def list_webhooks(connection: Connection, namespace: str, limit: int, offset: int) -> tuple[list[Webhook], int]:
    """A window of a namespace's webhooks in the order they were made, and how many there are."""
    own = webhooks.c.namespace == namespace
    total = int(connection.execute(select(func.count()).select_from(webhooks).where(own)).scalar_one())
    rows = connection.execute(select(webhooks).where(own).order_by(webhooks.c.id).limit(limit).offset(offset))
    return [load_webhook(row) for row in rows], total


def active_webhooks(connection: Connection, namespace: str) -> list[Webhook]:
    """The webhooks of a namespace that are sent anything."""
    query = select(webhooks).where(webhooks.c.namespace == namespace, webhooks.c.active.is_(True))
    return [load_webhook(row) for row in connection.execute(query.order_by(webhooks.c.id))]


def change_webhook(connection: Connection, number: int, changes: Mapping[str, Any]) -> None:
    """Change columns of a webhook."""
    connection.execute(update(webhooks).where(webhooks.c.id == number).values(**changes))


def remove_webhook(connection: Connection, number: int) -> None:
    """Remove a webhook, and all its deliveries with it."""
    connection.execute(delete(webhooks).where(webhooks.c.id == number))


def remove_webhooks_of(connection: Connection, namespace: str) -> None:
    """Remove the webhooks of a namespace that is gone: the next one of its name may belong to others."""
    connection.execute(delete(webhooks).where(webhooks.c.namespace == namespace))


def dump_holder(holder: Actor) -> dict[str, Any]:
    """The columns that keep who answers for a webhook."""
    return {"holder_kind": holder.kind, "holder_id": holder.id, "holder_name": holder.name}


def load_webhook(row: Row[Any]) -> Webhook:
    """A webhook from a row of its columns."""
    return Webhook(
        row.namespace,
        row.url,
        tuple(row.events),
        tuple(row.projects),
        row.description,
        row.active,
        row.secret,
        row.created_at,
        row.created_by,
        row.stopped_because,
        row.secret_before,
        row.secret_before_until,
        row.id,
        Actor(row.holder_kind, row.holder_id, row.holder_name) if row.holder_kind else None,
    )
