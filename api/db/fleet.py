"""The agents of all projects: operations on their rows and pending heartbeats. All calls block: run them in threads."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from api.db import agents, inactive_agents
from api.db.agent_events import is_failing, record_report_event
from api.db.agents import Agent, AgentKey, AgentProgress
from api.db.database import Database
from api.db.heartbeats import Heartbeats
from api.db.timestamps import Clock, utc_now

# The largest age of the last heartbeat of an online agent.
ONLINE_WITHIN = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Fleet:
    """The agents of the service; `heartbeats` holds the pending heartbeats of this worker."""

    database: Database
    heartbeats: Heartbeats
    clock: Clock = utc_now

    def register(self, agent: Agent) -> None:
        """Store the report of an agent at once, and record an event if it starts or stops failing."""
        key = AgentKey(agent.namespace, agent.project, agent.name)
        with self.database.writing() as connection:
            was_failing = is_failing(connection, key)
            agents.register(connection, agent)
            record_report_event(connection, agent, was_failing=was_failing)

    def find(self, key: AgentKey) -> Agent:
        """Return an agent; NotFound if it does not exist."""
        with self.database.reading() as connection:
            return agents.find_agent(connection, key)

    def list(self, namespace: str, project: str) -> list[Agent]:
        """Return the agents of a project, by name."""
        with self.database.reading() as connection:
            return agents.list_agents(connection, namespace, project)

    def list_progress(self, namespace: str, project: str) -> dict[str, AgentProgress]:
        """Return the progress of each agent of a project, by name; faster than `list`."""
        with self.database.reading() as connection:
            return agents.list_progress(connection, namespace, project, self.clock() - ONLINE_WITHIN)

    def forget(self, key: AgentKey) -> None:
        """Remove an agent and its pending heartbeat; NotFound if it does not exist."""
        self.heartbeats.drop(key)
        with self.database.writing() as connection:
            agents.remove_agent(connection, key)
            inactive_agents.clear_inactive(connection, key)

    def record_inactive_agents(self, after: timedelta) -> None:
        """Record an event for each agent without a heartbeat `after` so long, and for each that recovered.

        Of several workers, one records each event.
        """
        now = self.clock()
        with self.database.reading() as connection:
            due = inactive_agents.is_due(connection, now - after)
        while due:
            with self.database.writing() as connection:
                swept = inactive_agents.sweep(connection, now - after, now)
            due = max(swept) == inactive_agents.SWEEP_BATCH_SIZE


def is_online(agent: Agent, now: datetime) -> bool:
    """Return whether an agent sent a heartbeat recently."""
    return now - agent.last_seen_at <= ONLINE_WITHIN
