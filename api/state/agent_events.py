"""What agents say of themselves that others want to hear of: that one fails to load, or no longer does."""

from sqlalchemy import Connection, select

from api.state.agents import Agent, AgentKey
from api.state.events import Event, EventType, record_event
from api.state.moment import dump_time
from api.state.tables import agents

_LONGEST_ERROR = 1000
_ERROR = "error"


def is_failing(connection: Connection, key: AgentKey) -> bool:
    """Tell whether the last report of an agent was of an error."""
    known = (agents.c.namespace == key.namespace, agents.c.project == key.project, agents.c.name == key.name)
    return connection.execute(select(agents.c.status).where(*known)).scalar_one_or_none() == _ERROR


def tell_report(connection: Connection, agent: Agent, *, was_failing: bool) -> None:
    """Record an event where a report is another than the one before it, and none where it is the same."""
    if agent.failed == was_failing:
        return
    kind = EventType.AGENT_FAILING if agent.failed else EventType.AGENT_RECOVERED
    further = {"error": (agent.error or "")[:_LONGEST_ERROR]} if agent.failed else {"was": "failing"}
    body = {**agent_body(agent), **further}
    record_event(connection, Event(agent.last_seen_at, agent.namespace, agent.project, kind, body))


def agent_body(agent: Agent) -> dict[str, object]:
    """What every event of an agent says of it."""
    return {
        "agent": agent.name,
        "agentType": agent.type,
        "publishNumber": agent.publish_number,
        "lastSeenAt": dump_time(agent.last_seen_at),
    }
