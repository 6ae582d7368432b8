"""The outbox of webhooks: deliveries, their attempts and their claims.

A worker claims a delivery by moving its due time past the longest duration of an attempt, so if the worker dies, the
delivery is sent again. `claims` distinguishes a late outcome of an earlier claim from that of the current one.
"""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson
from sqlalchemy import Connection, Row, and_, delete, func, insert, select, update

from api.db.events.webhooks import Webhook, active_webhooks, load_webhook
from api.db.tables import deliveries, delivery_attempts, webhooks
from gitstore.errors import NotFound

# Concurrent attempts of one worker for the same webhook, so that a slow receiver does not delay the others.
MAX_CONCURRENT_PER_WEBHOOK = 2


class DeliveryStatus(StrEnum):
    """The status of a delivery."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message to a webhook; `message` is its `webhook-id`, the same for every attempt."""

    id: int
    webhook_id: int
    event_id: int | None
    message: str
    type: str
    body: str
    status: DeliveryStatus
    attempts: int
    created_at: datetime
    due_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """An attempt: the status of the response or the class of the error; `answer` is its first kilobyte."""

    at: datetime
    status: int | None
    error: str | None
    milliseconds: int
    answer: str


@dataclass(frozen=True, slots=True)
class ClaimedDelivery:
    """A delivery claimed by this worker; `claim` identifies the claim when the outcome is recorded."""

    delivery: Delivery
    webhook: Webhook
    claim: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a claimed delivery: the attempt and the next status; `due_at` is None if no attempt follows."""

    attempt: DeliveryAttempt
    status: DeliveryStatus
    due_at: datetime | None


def enqueue(
    connection: Connection, namespace: str, project: str, at: datetime, message: Mapping[str, Any]
) -> list[int]:
    """Put a message into the outbox for every subscribed webhook; return the ids of the deliveries."""
    wanting = [hook for hook in active_webhooks(connection, namespace) if hook.wants(project, message["type"])]
    return [add_delivery(connection, webhook, at, message) for webhook in wanting]


def add_delivery(connection: Connection, webhook: Webhook, at: datetime, message: Mapping[str, Any]) -> int:
    """Put a message for one webhook into the outbox, due at once; return the id of the delivery."""
    row = {
        "webhook_id": webhook.id,
        "event_id": message["data"].get("id"),
        "message": f"msg_{secrets.token_hex(16)}",
        "type": message["type"],
        "body": orjson.dumps(message).decode(),
        "status": DeliveryStatus.PENDING.value,
        "attempts": 0,
        "claims": 0,
        "created_at": at,
        "due_at": at,
    }
    return int(connection.execute(insert(deliveries).values(row).returning(deliveries.c.id)).scalar_one())


def is_any_due(connection: Connection, now: datetime, busy: Collection[int] = ()) -> bool:
    """Return whether a delivery can be claimed; read-only."""
    return connection.execute(_due(now, busy).with_only_columns(deliveries.c.id).limit(1)).first() is not None


def claim(
    connection: Connection, now: datetime, until: datetime, most: int, busy: Collection[int] = ()
) -> list[ClaimedDelivery]:
    """Claim due deliveries until a time, the longest due first; none of the `busy` webhooks."""
    place = func.row_number().over(
        partition_by=deliveries.c.webhook_id, order_by=(deliveries.c.due_at, deliveries.c.id)
    )
    due = _due(now, busy).add_columns(place.label("place")).subquery()
    query = select(due).where(due.c.place <= MAX_CONCURRENT_PER_WEBHOOK).order_by(due.c.due_at, due.c.id).limit(most)
    taken = [row for row in connection.execute(query).all() if _take(connection, row, until)]
    hooks = _webhooks_by_id(connection, {row.webhook_id for row in taken})
    return [ClaimedDelivery(_delivery(row), hooks[row.webhook_id], row.claims + 1) for row in taken]


def record_outcome(connection: Connection, claimed: ClaimedDelivery, outcome: Outcome) -> bool:
    """Record an attempt and the next status; False if the delivery was claimed again meanwhile, or removed."""
    ends = outcome.due_at is None
    changes = {
        "status": outcome.status.value,
        "attempts": deliveries.c.attempts + 1,
        "due_at": outcome.due_at,
        "finished_at": outcome.attempt.at if ends else None,
    }
    own = and_(deliveries.c.id == claimed.delivery.id, deliveries.c.claims == claimed.claim)
    if connection.execute(update(deliveries).where(own).values(changes)).rowcount == 0:
        return False
    attempt = outcome.attempt
    connection.execute(
        insert(delivery_attempts).values(
            delivery_id=claimed.delivery.id,
            at=attempt.at,
            status=attempt.status,
            error=attempt.error,
            milliseconds=attempt.milliseconds,
            answer=attempt.answer,
        )
    )
    return True


def release(connection: Connection, claimed: ClaimedDelivery) -> None:
    """Release a claim; the delivery has its former due time again."""
    own = and_(deliveries.c.id == claimed.delivery.id, deliveries.c.claims == claimed.claim)
    connection.execute(update(deliveries).where(own).values(due_at=claimed.delivery.due_at))


def redeliver(connection: Connection, number: int, now: datetime) -> None:
    """Make a delivery due now, and reset its count of attempts; a running attempt still finishes."""
    again = {"status": DeliveryStatus.PENDING.value, "attempts": 0, "due_at": now, "finished_at": None}
    statement = update(deliveries).where(deliveries.c.id == number)
    connection.execute(statement.values(claims=deliveries.c.claims + 1, **again))


def find_delivery(connection: Connection, webhook: int, number: int) -> Delivery:
    """Return a delivery of a webhook; NotFound if it does not exist."""
    query = select(deliveries).where(deliveries.c.id == number, deliveries.c.webhook_id == webhook)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise NotFound(f"Delivery {number} of this webhook does not exist.")
    return _delivery(row)


def list_deliveries(
    connection: Connection, webhook: int, status: str | None, limit: int, offset: int
) -> tuple[list[Delivery], int]:
    """Return a window of a webhook's deliveries, newest first, and their total number."""
    own = and_(deliveries.c.webhook_id == webhook, *([deliveries.c.status == status] if status else []))
    total = int(connection.execute(select(func.count()).select_from(deliveries).where(own)).scalar_one())
    query = select(deliveries).where(own).order_by(deliveries.c.id.desc()).limit(limit).offset(offset)
    return [_delivery(row) for row in connection.execute(query)], total


def list_attempts(connection: Connection, delivery: int) -> list[DeliveryAttempt]:
    """Return the attempts of a delivery, oldest first."""
    query = select(delivery_attempts).where(delivery_attempts.c.delivery_id == delivery)
    rows = connection.execute(query.order_by(delivery_attempts.c.id))
    return [DeliveryAttempt(row.at, row.status, row.error, row.milliseconds, row.answer) for row in rows]


def count_pending(connection: Connection) -> int:
    """Return the number of deliveries that wait to be sent, also those of webhooks that are off."""
    query = select(func.count()).select_from(deliveries).where(deliveries.c.status == DeliveryStatus.PENDING.value)
    return int(connection.execute(query).scalar_one())


def discard_pending(connection: Connection, now: datetime) -> int:
    """Mark all deliveries that wait to be sent as failed; return their number. A person may send each of them again."""
    own = deliveries.c.status == DeliveryStatus.PENDING.value
    changes = {"status": DeliveryStatus.FAILED.value, "due_at": None, "finished_at": now}
    return connection.execute(update(deliveries).where(own).values(claims=deliveries.c.claims + 1, **changes)).rowcount


def has_delivery_before(connection: Connection, moment: datetime) -> bool:
    """Return whether a delivery is older than a time."""
    query = select(deliveries.c.id).where(deliveries.c.created_at < moment).limit(1)
    return connection.execute(query).first() is not None


def remove_deliveries_before(connection: Connection, moment: datetime) -> int:
    """Remove deliveries that are older than a time; return their number."""
    return connection.execute(delete(deliveries).where(deliveries.c.created_at < moment)).rowcount


def _due(now: datetime, busy: Collection[int] = ()) -> Any:
    waiting = and_(
        deliveries.c.status == DeliveryStatus.PENDING.value, deliveries.c.due_at <= now, webhooks.c.active.is_(True)
    )
    query = select(deliveries).join(webhooks).where(waiting)
    return query.where(deliveries.c.webhook_id.not_in(busy)) if busy else query


def _webhooks_by_id(connection: Connection, numbers: Collection[int]) -> dict[int, Webhook]:
    rows = connection.execute(select(webhooks).where(webhooks.c.id.in_(numbers)))
    return {row.id: load_webhook(row) for row in rows}


def _take(connection: Connection, row: Any, until: datetime) -> bool:
    """Claim a delivery; False if another writer claimed it since it was read, as PostgreSQL allows."""
    unclaimed = and_(deliveries.c.id == row.id, deliveries.c.claims == row.claims)
    taken = update(deliveries).where(unclaimed).values(claims=row.claims + 1, due_at=until)
    return connection.execute(taken).rowcount == 1


def _delivery(row: Row[Any]) -> Delivery:
    return Delivery(
        row.id,
        row.webhook_id,
        row.event_id,
        row.message,
        row.type,
        row.body,
        DeliveryStatus(row.status),
        row.attempts,
        row.created_at,
        row.due_at,
        row.finished_at,
    )
