"""Events from the reports of agents: an agent fails to load a version, or recovers."""

from sqlalchemy import Connection, select

from api.db.agents.agents import Agent, AgentKey
from api.db.events.events import Event, EventType, record_event
from api.db.tables import agents
from api.db.timestamps import dump_time

_LONGEST_ERROR = 1000
_ERROR = "error"


def is_failing(connection: Connection, key: AgentKey) -> bool | None:
    """Return whether the last report of an agent was of an error; None if it does not exist."""
    known = (agents.c.namespace == key.namespace, agents.c.project == key.project, agents.c.name == key.name)
    row = connection.execute(select(agents.c.status).where(*known)).one_or_none()
    return None if row is None else row.status == _ERROR


def record_report_event(connection: Connection, agent: Agent, *, was_failing: bool) -> None:
    """Record an event if a report differs from the previous one in failing or not."""
    if agent.failed == was_failing:
        return
    kind = EventType.AGENT_FAILING if agent.failed else EventType.AGENT_RECOVERED
    extra = {"error": (agent.error or "")[:_LONGEST_ERROR]} if agent.failed else {"was": "failing"}
    body = {**agent_body(agent), **extra}
    record_event(connection, Event(agent.last_seen_at, agent.namespace, agent.project, kind, body))


def agent_body(agent: Agent) -> dict[str, object]:
    """Return the fields of an agent that each of its events has."""
    return {
        "agent": agent.name,
        "agentType": agent.type,
        "publishNumber": agent.publish_number,
        "lastSeenAt": dump_time(agent.last_seen_at),
    }
