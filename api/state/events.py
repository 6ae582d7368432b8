"""Events: what happened in a project that others want to hear of, in one order for all who listen.

Whoever changes something records the event in the transaction of the change, so neither is there without the other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, text

from api.state.database import TELLS
from api.state.deliveries import enqueue
from api.state.moment import dump_time
from api.state.tables import events

_ORDER_LOCK = 0x57617970_6F7375
"""PostgreSQL gives ids out before the commit: who records events does so one after another, so that ids are in order."""


class EventType(StrEnum):
    """What can happen. Words on the wire; they never change afterwards."""

    REVIEW_REQUESTED = "review.requested"
    REVIEW_APPROVED = "review.approved"
    REVIEW_REJECTED = "review.rejected"
    REVIEW_COMMENTED = "review.commented"
    PUBLISHED = "published"
    ROLLED_BACK = "rolled_back"
    AGENT_FAILING = "agent.failing"
    AGENT_SILENT = "agent.silent"
    AGENT_RECOVERED = "agent.recovered"


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `body` is JSON and holds no secrets. `commit` is that of a publish. `id` is 0 until it is recorded."""

    at: datetime
    namespace: str
    project: str
    type: EventType
    body: Mapping[str, object]
    commit: str | None = None
    id: int = 0

    def wire(self) -> dict[str, object]:
        """What listeners and webhooks are sent."""
        data = {"id": self.id, "namespace": self.namespace, "project": self.project, **self.body}
        return {"type": self.type.value, "timestamp": dump_time(self.at), "data": data}


def record_event(connection: Connection, event: Event) -> int:
    """Record an event, and what it sends to webhooks, in the transaction of what it tells about; gives its id."""
    lock_order(connection)
    connection.execution_options(**{TELLS: True})
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
    """Be the only one who records events until the transaction ends; SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ORDER_LOCK})


def newest_id(connection: Connection) -> int:
    """The id of the newest event, 0 where there is none."""
    return int(connection.execute(select(func.max(events.c.id))).scalar_one() or 0)


def list_events(connection: Connection, after: int, limit: int, namespace: str | None = None) -> list[Event]:
    """The first events after an id, at most `limit`; of one namespace, or of all."""
    query = select(events).where(events.c.id > after).order_by(events.c.id).limit(limit)
    if namespace is not None:
        query = query.where(events.c.namespace == namespace)
    return [_event(row) for row in connection.execute(query)]


def has_publish(connection: Connection, namespace: str, project: str, commit: str) -> bool:
    """Tell whether the publish that a commit is has been told."""
    query = select(events.c.id).where(events.c.namespace == namespace, events.c.project == project)
    return connection.execute(query.where(events.c.commit == commit)).first() is not None


def has_event_before(connection: Connection, moment: datetime) -> bool:
    """Tell whether there is an older event."""
    return connection.execute(select(events.c.id).where(events.c.at < moment).limit(1)).first() is not None


def remove_events_before(connection: Connection, moment: datetime) -> int:
    """Forget what is older; gives how many there were."""
    return connection.execute(delete(events).where(events.c.at < moment)).rowcount


def remove_events_of(connection: Connection, namespace: str) -> None:
    """Forget what happened in a namespace that is gone."""
    connection.execute(delete(events).where(events.c.namespace == namespace))


def _event(row: Row[Any]) -> Event:
    return Event(row.at, row.namespace, row.project, EventType(row.type), row.body, row.commit, row.id)
