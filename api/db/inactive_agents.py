"""Agents without a heartbeat for too long: each is reported once, until it recovers."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, insert, or_, select

from api.db.agent_events import agent_body
from api.db.agents import Agent, AgentKey
from api.db.events import Event, EventType, lock_order, record_event
from api.db.tables import agents, silent_agents

SWEEP_BATCH_SIZE = 500  # agents per transaction

_same = and_(
    silent_agents.c.namespace == agents.c.namespace,
    silent_agents.c.project == agents.c.project,
    silent_agents.c.name == agents.c.name,
)
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


class SweepCounts(NamedTuple):
    """The numbers of agents that became silent and that recovered."""

    silent: int
    back: int


def is_due(connection: Connection, cutoff: datetime) -> bool:
    """Return whether a sweep would find anything; read-only."""
    silent = and_(agents.c.last_seen_at < cutoff, ~exists().where(_same))
    back = exists().where(_same, _is_active(cutoff))
    return connection.execute(select(agents.c.name).where(or_(silent, back)).limit(1)).first() is not None


def sweep(connection: Connection, cutoff: datetime, now: datetime) -> SweepCounts:
    """Record events for agents with a last heartbeat before `cutoff`, and for reported agents that recovered."""
    lock_order(connection)
    newly_inactive = select(*_COLUMNS).where(agents.c.last_seen_at < cutoff, ~exists().where(_same))
    silent = [Agent(**row) for row in connection.execute(newly_inactive.limit(SWEEP_BATCH_SIZE)).mappings()]
    for agent in silent:
        key = AgentKey(agent.namespace, agent.project, agent.name)
        connection.execute(insert(silent_agents).values(at=now, **key._asdict()))
        _record_event(connection, EventType.AGENT_SILENT, agent, now)
    active_again = select(*_COLUMNS).where(exists().where(_same, _is_active(cutoff)))
    back = [Agent(**row) for row in connection.execute(active_again.limit(SWEEP_BATCH_SIZE)).mappings()]
    for agent in back:
        clear_inactive(connection, AgentKey(agent.namespace, agent.project, agent.name))
        _record_event(connection, EventType.AGENT_RECOVERED, agent, now, was="silent")
    return SweepCounts(len(silent), len(back))


def clear_inactive(connection: Connection, key: AgentKey) -> None:
    """Remove the record that an agent is silent."""
    known = (
        silent_agents.c.namespace == key.namespace,
        silent_agents.c.project == key.project,
        silent_agents.c.name == key.name,
    )
    connection.execute(delete(silent_agents).where(*known))


def _is_active(cutoff: datetime) -> ColumnElement[bool]:
    """Match agents with a heartbeat that is recent, or after the report: one may recover and fail between sweeps."""
    return or_(agents.c.last_seen_at >= cutoff, agents.c.last_seen_at > silent_agents.c.at)


def _record_event(connection: Connection, kind: EventType, agent: Agent, now: datetime, **extra: str) -> None:
    record_event(connection, Event(now, agent.namespace, agent.project, kind, {**agent_body(agent), **extra}))
