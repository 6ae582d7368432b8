"""Agents without a heartbeat for too long: each is reported once, until it recovers.

Two small indexes hold the agents that may be due, so that the others are not read: the ones that are not reported, by
the minute of their last heartbeat, and the reported ones with a heartbeat since.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, select, text, update

from api.db.agents.agent_events import agent_body
from api.db.agents.agents import Agent, minute_of
from api.db.events.events import Event, EventType, lock_order, record_event
from api.db.tables import agents

SWEEP_BATCH_SIZE = 500  # agents per transaction

_KEY = ("namespace", "project", "name")
_COLUMNS = (
    agents.c.namespace,
    agents.c.project,
    agents.c.name,
    agents.c.type,
    agents.c.created_at,
    agents.c.last_seen_at,
    agents.c.publish_number,
    agents.c.status,
)
# In the words of the indexes: a condition in other words may not be recognized.
_NOT_REPORTED = text("silent_since IS NULL")
_BACK = text("last_seen_at > silent_since")


class SweepCounts(NamedTuple):
    """The numbers of agents that became silent and that recovered."""

    silent: int
    back: int


def is_due(connection: Connection, cutoff: datetime) -> bool:
    """Return whether a sweep would find anything; read-only."""
    return any(
        connection.execute(query.limit(1)).first() is not None for query in (newly_silent(cutoff), active_again())
    )


def newly_silent(cutoff: datetime) -> Select[tuple[object, ...]]:
    """Return the query of agents that are to be reported."""
    is_silent: ColumnElement[bool] = and_(
        _NOT_REPORTED, agents.c.seen_minute <= minute_of(cutoff), agents.c.last_seen_at < cutoff
    )
    return select(*_COLUMNS).where(is_silent).order_by(agents.c.seen_minute)


def active_again() -> Select[tuple[object, ...]]:
    """Return the query of reported agents that sent a heartbeat since."""
    return select(*_COLUMNS).where(_BACK).order_by(agents.c.seen_minute)


def sweep(connection: Connection, cutoff: datetime, now: datetime) -> SweepCounts:
    """Record events for agents with a last heartbeat before `cutoff`, and for reported agents that recovered."""
    lock_order(connection)
    silent = _find(connection, newly_silent(cutoff))
    for agent in silent:
        _record_event(connection, EventType.AGENT_SILENT, agent, now)
    back = _find(connection, active_again())
    for agent in back:
        _record_event(connection, EventType.AGENT_RECOVERED, agent, now, was="silent")
    _mark(connection, [(agent, agent.last_seen_at) for agent in silent] + [(agent, None) for agent in back])
    return SweepCounts(len(silent), len(back))


def _find(connection: Connection, query: Select[tuple[object, ...]]) -> list[Agent]:
    return [Agent(**row) for row in connection.execute(query.limit(SWEEP_BATCH_SIZE)).mappings()]


def _mark(connection: Connection, marks: Sequence[tuple[Agent, datetime | None]]) -> None:
    """Set the heartbeats since which agents are silent; None for those that are not."""
    own = (agents.c[name] == bindparam(f"own_{name}") for name in _KEY)
    statement = update(agents).where(*own).values(silent_since=bindparam("since"))
    rows = [{"since": since, **{f"own_{name}": getattr(agent, name) for name in _KEY}} for agent, since in marks]
    if rows:
        connection.execute(statement, rows)


def _record_event(connection: Connection, kind: EventType, agent: Agent, now: datetime, **extra: str) -> None:
    record_event(connection, Event(now, agent.namespace, agent.project, kind, {**agent_body(agent), **extra}))
