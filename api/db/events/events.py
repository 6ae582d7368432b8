"""Events of projects, in one order for all subscribers.

An event is recorded in the transaction of its change, so neither exists without the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, text

from api.db.database import RECORDS_EVENT
from api.db.events.deliveries import enqueue
from api.db.tables import events
from api.db.timestamps import dump_time

# PostgreSQL assigns ids before the commit; with this lock, transactions that record events run one at a time, so that
# ids become visible in order: https://www.postgresql.org/docs/current/functions-sequence.html
_ORDER_LOCK = 0x57617970_6F7375


class EventType(StrEnum):
    """The types of events. The values are part of the API and never change."""

    REVIEW_REQUESTED = "review.requested"
    REVIEW_APPROVED = "review.approved"
    REVIEW_REJECTED = "review.rejected"
    REVIEW_COMMENTED = "review.commented"
    PUBLISHED = "published"
    ROLLED_BACK = "rolled_back"
    NAMESPACE_RESTORED = "namespace.restored"
    RELEASE_INVALID = "release.invalid"
    AGENT_FAILING = "agent.failing"
    AGENT_SILENT = "agent.silent"
    AGENT_RECOVERED = "agent.recovered"


@dataclass(frozen=True, slots=True)
class Event:
    """An event; `body` is JSON without secrets. `commit` is that of a publish. `id` is 0 until it is recorded."""

    at: datetime
    namespace: str
    project: str
    type: EventType
    body: Mapping[str, object]
    commit: str | None = None
    id: int = 0

    def wire(self) -> dict[str, object]:
        """Return the message for event streams and webhooks."""
        data = {"id": self.id, "namespace": self.namespace, "project": self.project, **self.body}
        return {"type": self.type.value, "timestamp": dump_time(self.at), "data": data}


def record_event(connection: Connection, event: Event) -> int:
    """Record an event and its webhook deliveries, in the transaction of its change; return its id."""
    lock_order(connection)
    connection.execution_options(**{RECORDS_EVENT: True})
    row = {
        "at": event.at,
        "namespace": event.namespace,
        "project": event.project,
        "type": event.type.value,
        "commit": event.commit,
        "body": dict(event.body),
    }
    number = int(connection.execute(insert(events).values(row).returning(events.c.id)).scalar_one())
    recorded = Event(event.at, event.namespace, event.project, event.type, event.body, event.commit, number)
    enqueue(connection, event.namespace, event.project, event.at, recorded.wire())
    return number


def lock_order(connection: Connection) -> None:
    """Lock the recording of events until the transaction ends; SQLite has only one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ORDER_LOCK})


def newest_id(connection: Connection) -> int:
    """Return the id of the newest event, 0 if there is none."""
    return int(connection.execute(select(func.max(events.c.id))).scalar_one() or 0)


def list_events(connection: Connection, after: int, limit: int, namespace: str | None = None) -> list[Event]:
    """Return the first events after an id, at most `limit`; of one namespace, or of all."""
    query = select(events).where(events.c.id > after).order_by(events.c.id).limit(limit)
    if namespace is not None:
        query = query.where(events.c.namespace == namespace)
    return [_event(row) for row in connection.execute(query)]


def has_publish(connection: Connection, namespace: str, project: str, commit: str) -> bool:
    """Return whether the publish of a commit has an event."""
    query = select(events.c.id).where(events.c.namespace == namespace, events.c.project == project)
    return connection.execute(query.where(events.c.commit == commit)).first() is not None


def has_event_before(connection: Connection, moment: datetime) -> bool:
    """Return whether an event is older than a time."""
    return connection.execute(select(events.c.id).where(events.c.at < moment).limit(1)).first() is not None


def remove_events_before(connection: Connection, moment: datetime) -> int:
    """Remove events that are older than a time; return their number."""
    return connection.execute(delete(events).where(events.c.at < moment)).rowcount


def remove_events_of(connection: Connection, namespace: str) -> None:
    """Remove the events of a deleted namespace."""
    connection.execute(delete(events).where(events.c.namespace == namespace))


def _event(row: Row[Any]) -> Event:
    return Event(row.at, row.namespace, row.project, EventType(row.type), row.body, row.commit, row.id)
