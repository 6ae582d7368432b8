"""Like refusals, counted by minute in the database until the minute has passed: then they are one row of the trail."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, select

from api.db.audit import Actor, AuditEntry, record
from api.db.audit_caller import UsedToken
from api.db.tables import audit_repeats
from api.db.upserts import upsert

_GRACE = timedelta(seconds=5)  # in which the workers bring the refusals of a minute that has passed


class Refusal(NamedTuple):
    """The fields that like refusals share; all texts are the service's own, or names that it has checked."""

    event: str
    actor: Actor
    subject: str
    address: str | None
    method: str
    route: str
    status: int
    error: str
    token: UsedToken | None = None


def add_refusals(connection: Connection, minute: datetime, counts: Mapping[Refusal, int]) -> None:
    """Add counts of refusals in a minute to those of other workers."""
    rows = sorted((_row(minute, refusal, count) for refusal, count in counts.items()), key=lambda row: str(row["key"]))
    for row in rows:  # in one order, so that two writers never wait for each other
        adding = upsert(connection, audit_repeats).values(**row)
        total = audit_repeats.c.count + adding.excluded.count
        connection.execute(adding.on_conflict_do_update(index_elements=["key"], set_={"count": total}))


def close_minutes(connection: Connection, now: datetime) -> int:
    """Move the refusals of past minutes into the trail, each with its count; return the number of rows."""
    rows = connection.execute(delete(audit_repeats).where(_has_passed(now)).returning(audit_repeats)).mappings().all()
    for row in sorted(rows, key=lambda row: (row["minute"], row["key"])):
        record(connection, _entry(row["minute"], row["entry"], row["count"]))
    return len(rows)


def has_past_minutes(connection: Connection, now: datetime) -> bool:
    """Tell whether `close_minutes` has rows to move."""
    return connection.execute(select(audit_repeats.c.key).where(_has_passed(now)).limit(1)).first() is not None


def _has_passed(now: datetime) -> ColumnElement[bool]:
    return audit_repeats.c.minute <= now - timedelta(minutes=1) - _GRACE


def minute_of(moment: datetime) -> datetime:
    """Return the start of the minute of a time."""
    return moment.astimezone(UTC).replace(second=0, microsecond=0)


def _row(minute: datetime, refusal: Refusal, count: int) -> dict[str, Any]:
    entry = {**refusal._asdict(), "actor": [refusal.actor.kind, refusal.actor.id, refusal.actor.name]}
    text = json.dumps([minute.isoformat(), entry], sort_keys=True)
    return {"key": sha256(text.encode()).hexdigest(), "minute": minute, "entry": entry, "count": count}


def _entry(minute: datetime, entry: Mapping[str, Any], count: int) -> AuditEntry:
    detail = {name: entry[name] for name in ("method", "route", "status", "error")}
    token = entry.get("token")
    return AuditEntry(
        minute,
        entry["event"],
        Actor(*entry["actor"]),
        entry["subject"],
        detail,
        address=entry["address"],
        count=count,
        token=UsedToken(*token) if token else None,
    )
