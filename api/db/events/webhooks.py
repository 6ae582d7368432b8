"""The table of webhooks: the receivers of a namespace's events, and the secrets that sign them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, insert, select, update

from api.db.audit import Actor
from api.db.tables import deliveries, webhooks
from gitstore.errors import NotFound

# The reasons why the service deactivates a webhook:
GONE = "gone"  # its receiver responded with 410
GRANT_LOST = "grant_lost"  # its owner may no longer read the events that it receives


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook; empty `events` or `projects` mean all. `id` is 0 until it is stored.

    `stopped_because` is the reason why the service deactivated it, None if it did not. Until `secret_before_until`,
    messages are also signed with the previous secret. It receives only events that `owner` may read; `owner` is None
    for webhooks that are older than this rule.
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
    owner: Actor | None = None

    def secrets(self, now: datetime) -> tuple[str, ...]:
        """Return the secrets that sign a message now, one signature for each."""
        before, until = self.secret_before, self.secret_before_until
        return (self.secret, before) if before and until and now < until else (self.secret,)

    def wants(self, project: str, event: str) -> bool:
        """Return whether it receives this event of this project; an empty project is the namespace itself."""
        return (not self.events or event in self.events) and (not self.projects or project in self.projects)


def add_webhook(connection: Connection, webhook: Webhook) -> int:
    """Store a new webhook and return its id."""
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
        **(dump_owner(webhook.owner) if webhook.owner else {}),
    }
    return int(connection.execute(insert(webhooks).values(row).returning(webhooks.c.id)).scalar_one())


def find_webhook(connection: Connection, namespace: str, number: int) -> Webhook:
    """Return the webhook with an id in a namespace; NotFound if it does not exist."""
    query = select(webhooks).where(webhooks.c.id == number, _of(namespace))
    row = connection.execute(query).one_or_none()
    if row is None:
        raise NotFound(f"Webhook {number} does not exist in this namespace.")
    return load_webhook(row)


def list_webhooks(connection: Connection, namespace: str, limit: int, offset: int) -> tuple[list[Webhook], int]:
    """Return a window of a namespace's webhooks, oldest first, and their total number."""
    own = _of(namespace)
    total = int(connection.execute(select(func.count()).select_from(webhooks).where(own)).scalar_one())
    rows = connection.execute(select(webhooks).where(own).order_by(webhooks.c.id).limit(limit).offset(offset))
    return [load_webhook(row) for row in rows], total


def active_webhooks(connection: Connection, namespace: str) -> list[Webhook]:
    """Return the active webhooks of a namespace."""
    query = select(webhooks).where(_of(namespace), webhooks.c.active.is_(True))
    return [load_webhook(row) for row in connection.execute(query.order_by(webhooks.c.id))]


def change_webhook(connection: Connection, number: int, changes: Mapping[str, Any]) -> None:
    """Change columns of a webhook."""
    connection.execute(update(webhooks).where(webhooks.c.id == number).values(**changes))


def remove_webhook(connection: Connection, number: int) -> None:
    """Remove a webhook and all its deliveries."""
    connection.execute(delete(webhooks).where(webhooks.c.id == number))


def archive_webhooks(connection: Connection, namespace: str, archive: str) -> None:
    """Put the webhooks of an archived namespace away, and remove their deliveries.

    The next namespace of its name may belong to other users: until a restore, no function here returns them.
    """
    own = select(webhooks.c.id).where(_of(namespace))
    connection.execute(delete(deliveries).where(deliveries.c.webhook_id.in_(own)))
    connection.execute(update(webhooks).where(_of(namespace)).values(archive=archive))


def restore_webhooks(connection: Connection, namespace: str, archive: str) -> None:
    """Bring the webhooks of an archived namespace back."""
    archived = (webhooks.c.namespace == namespace, webhooks.c.archive == archive)
    connection.execute(update(webhooks).where(*archived).values(archive=None))


def remove_webhooks_of(connection: Connection, namespace: str) -> None:
    """Remove the webhooks of a deleted namespace whose archive is gone."""
    connection.execute(delete(webhooks).where(_of(namespace)))


def dump_owner(owner: Actor) -> dict[str, Any]:
    """Convert an owner to columns."""
    return {"holder_kind": owner.kind, "holder_id": owner.id, "holder_name": owner.name}


def _of(namespace: str) -> ColumnElement[bool]:
    return and_(webhooks.c.namespace == namespace, webhooks.c.archive.is_(None))


def load_webhook(row: Row[Any]) -> Webhook:
    """Load a webhook from a row."""
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
