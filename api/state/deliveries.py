"""The outbox of webhooks: what is to be delivered, what came of each attempt, and who is at it now.

A delivery is claimed by moving the moment at which it is due past the time that an attempt can take: a worker that
dies in between leaves it to be sent again. `claims` tells a late answer of an earlier claim from that of the present one.
"""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson
from sqlalchemy import Connection, Row, and_, delete, func, insert, select, update

from api.state.tables import deliveries, delivery_attempts, webhooks
from api.state.webhooks import Webhook, active_webhooks, load_webhook
from gitstore.errors import NotFound

MOST_AT_ONCE = 2
"""Attempts that one worker makes at a time for the same webhook, so that a slow receiver holds up no other."""


class Status(StrEnum):
    """How far a delivery is."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message to one webhook; `message` is its `webhook-id`, which stays however often it is sent."""

    id: int
    webhook_id: int
    event_id: int | None
    message: str
    type: str
    body: str
    status: Status
    attempts: int
    created_at: datetime
    due_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try: the status of the answer, or the class of error that came instead; `answer` is its first kilobyte."""

    at: datetime
    status: int | None
    error: str | None
    milliseconds: int
    answer: str


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery that this worker is to make now, with the claim that its outcome is recorded under."""

    delivery: Delivery
    webhook: Webhook
    claim: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a claimed delivery: the attempt, and what follows; `due_at` is None where nothing does."""

    attempt: Attempt
    status: Status
    due_at: datetime | None


def enqueue(
    connection: Connection, namespace: str, project: str, at: datetime, message: Mapping[str, Any]
) -> list[int]:
    """Put a message into the outbox for every webhook that wants it; gives the ids of the deliveries."""
    wanting = [hook for hook in active_webhooks(connection, namespace) if hook.wants(project, message["type"])]
    return [add_delivery(connection, webhook, at, message) for webhook in wanting]


def add_delivery(connection: Connection, webhook: Webhook, at: datetime, message: Mapping[str, Any]) -> int:
    """Put a message for one webhook into the outbox, due at once; gives the id of the delivery."""
    row = {
        "webhook_id": webhook.id,
        "event_id": message["data"].get("id"),
        "message": f"msg_{secrets.token_hex(16)}",
        "type": message["type"],
        "body": orjson.dumps(message).decode(),
        "status": Status.PENDING.value,
        "attempts": 0,
        "claims": 0,
        "created_at": at,
        "due_at": at,
    }
    return int(connection.execute(insert(deliveries).values(row).returning(deliveries.c.id)).scalar_one())


def is_any_due(connection: Connection, now: datetime, busy: Collection[int] = ()) -> bool:
    """Tell whether there is anything to claim; reads only."""
    return connection.execute(_due(now, busy).with_only_columns(deliveries.c.id).limit(1)).first() is not None


def claim(
    connection: Connection, now: datetime, until: datetime, most: int, busy: Collection[int] = ()
) -> list[Claimed]:
    """Claim due deliveries until a moment, the longest due first; none of the webhooks that are `busy`."""
    place = func.row_number().over(
        partition_by=deliveries.c.webhook_id, order_by=(deliveries.c.due_at, deliveries.c.id)
    )
    due = _due(now, busy).add_columns(place.label("place")).subquery()
    query = select(due).where(due.c.place <= MOST_AT_ONCE).order_by(due.c.due_at, due.c.id).limit(most)
    taken = [row for row in connection.execute(query).all() if _take(connection, row, until)]
    hooks = _webhooks_by_id(connection, {row.webhook_id for row in taken})
    return [Claimed(_delivery(row), hooks[row.webhook_id], row.claims + 1) for row in taken]


def record_outcome(connection: Connection, claimed: Claimed, outcome: Outcome) -> bool:
    """Record an attempt and what follows from it; False where the delivery was claimed anew meanwhile, or is gone."""
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


def release(connection: Connection, claimed: Claimed) -> None:
    """Give a claim back, as if it had never been made: due when it was."""
    own = and_(deliveries.c.id == claimed.delivery.id, deliveries.c.claims == claimed.claim)
    connection.execute(update(deliveries).where(own).values(due_at=claimed.delivery.due_at))


def redeliver(connection: Connection, number: int, now: datetime) -> None:
    """Make a delivery due now, with its tries counted anew; an attempt that is under way still ends by itself."""
    again = {"status": Status.PENDING.value, "attempts": 0, "due_at": now, "finished_at": None}
    statement = update(deliveries).where(deliveries.c.id == number)
    connection.execute(statement.values(claims=deliveries.c.claims + 1, **again))


def find_delivery(connection: Connection, webhook: int, number: int) -> Delivery:
    """A delivery of a webhook; NotFound where there is none."""
    query = select(deliveries).where(deliveries.c.id == number, deliveries.c.webhook_id == webhook)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise NotFound(f"There is no delivery {number} of this webhook.")
    return _delivery(row)


def list_deliveries(
    connection: Connection, webhook: int, status: str | None, limit: int, offset: int
) -> tuple[list[Delivery], int]:
    """A window of a webhook's deliveries, newest first, and how many there are."""
    own = and_(deliveries.c.webhook_id == webhook, *([deliveries.c.status == status] if status else []))
    total = int(connection.execute(select(func.count()).select_from(deliveries).where(own)).scalar_one())
    query = select(deliveries).where(own).order_by(deliveries.c.id.desc()).limit(limit).offset(offset)
    return [_delivery(row) for row in connection.execute(query)], total


def list_attempts(connection: Connection, delivery: int) -> list[Attempt]:
    """The attempts of a delivery, the first one first."""
    query = select(delivery_attempts).where(delivery_attempts.c.delivery_id == delivery)
    rows = connection.execute(query.order_by(delivery_attempts.c.id))
    return [Attempt(row.at, row.status, row.error, row.milliseconds, row.answer) for row in rows]


def has_delivery_before(connection: Connection, moment: datetime) -> bool:
    """Tell whether there is an older delivery."""
    query = select(deliveries.c.id).where(deliveries.c.created_at < moment).limit(1)
    return connection.execute(query).first() is not None


def remove_deliveries_before(connection: Connection, moment: datetime) -> int:
    """Forget deliveries that were made before a moment; gives how many."""
    return connection.execute(delete(deliveries).where(deliveries.c.created_at < moment)).rowcount


def _due(now: datetime, busy: Collection[int] = ()) -> Any:
    waiting = and_(deliveries.c.status == Status.PENDING.value, deliveries.c.due_at <= now, webhooks.c.active.is_(True))
    query = select(deliveries).join(webhooks).where(waiting)
    return query.where(deliveries.c.webhook_id.not_in(busy)) if busy else query


def _webhooks_by_id(connection: Connection, numbers: Collection[int]) -> dict[int, Webhook]:
    rows = connection.execute(select(webhooks).where(webhooks.c.id.in_(numbers)))
    return {row.id: load_webhook(row) for row in rows}


def _take(connection: Connection, row: Any, until: datetime) -> bool:
    """Tell whether nobody else took it since it was read, which a database with several writers allows."""
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
        Status(row.status),
        row.attempts,
        row.created_at,
        row.due_at,
        row.finished_at,
    )
