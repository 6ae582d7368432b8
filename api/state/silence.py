"""Agents that were not heard of for too long: each is told of once, until it comes back."""

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, insert, or_, select

from api.state.agent_events import agent_body
from api.state.agents import Agent, AgentKey
from api.state.events import Event, EventType, lock_order, record_event
from api.state.tables import agents, silent_agents

MOST_AT_ONCE = 500
"""Agents that one transaction tells of; the next goes on."""

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


class Swept(NamedTuple):
    """How many agents fell silent and how many came back."""

    silent: int
    back: int


def is_due(connection: Connection, cutoff: datetime) -> bool:
    """Tell whether a sweep would find anything; reads only."""
    silent = and_(agents.c.last_seen_at < cutoff, ~exists().where(_same))
    back = exists().where(_same, _heard(cutoff))
    return connection.execute(select(agents.c.name).where(or_(silent, back)).limit(1)).first() is not None


def sweep(connection: Connection, cutoff: datetime, now: datetime) -> Swept:
    """Tell of agents last heard of before `cutoff`, and of those that were told of and have come back."""
    lock_order(connection)
    unnoted = select(*_COLUMNS).where(agents.c.last_seen_at < cutoff, ~exists().where(_same))
    silent = [Agent(**row) for row in connection.execute(unnoted.limit(MOST_AT_ONCE)).mappings()]
    for agent in silent:
        key = AgentKey(agent.namespace, agent.project, agent.name)
        connection.execute(insert(silent_agents).values(at=now, **key._asdict()))
        _tell(connection, EventType.AGENT_SILENT, agent, now)
    heard = select(*_COLUMNS).where(exists().where(_same, _heard(cutoff)))
    back = [Agent(**row) for row in connection.execute(heard.limit(MOST_AT_ONCE)).mappings()]
    for agent in back:
        forget_silence(connection, AgentKey(agent.namespace, agent.project, agent.name))
        _tell(connection, EventType.AGENT_RECOVERED, agent, now, was="silent")
    return Swept(len(silent), len(back))


def forget_silence(connection: Connection, key: AgentKey) -> None:
    """An agent is no longer known as silent."""
    known = (
        silent_agents.c.namespace == key.namespace,
        silent_agents.c.project == key.project,
        silent_agents.c.name == key.name,
    )
    connection.execute(delete(silent_agents).where(*known))


def _heard(cutoff: datetime) -> ColumnElement[bool]:
    """Heard of lately, or at least after it was told of: it may have fallen silent again before anybody looked."""
    return or_(agents.c.last_seen_at >= cutoff, agents.c.last_seen_at > silent_agents.c.at)


def _tell(connection: Connection, kind: EventType, agent: Agent, now: datetime, **further: str) -> None:
    record_event(connection, Event(now, agent.namespace, agent.project, kind, {**agent_body(agent), **further}))
