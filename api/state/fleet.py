"""The agents of all projects: what is done with them, over the rows and the heartbeats that wait. All but `note` block."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from api.state import agents, silence
from api.state.agent_events import is_failing, tell_report
from api.state.agents import Agent, AgentKey, Standing
from api.state.database import Database
from api.state.heartbeats import Heartbeats
from api.state.moment import Clock, utc_now

ONLINE_WITHIN = timedelta(minutes=2)
"""How long ago an agent may have been heard of to count as online."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """Agents as the service knows them; `heartbeats` are those of this worker that are not written yet."""

    database: Database
    heartbeats: Heartbeats
    clock: Clock = utc_now

    def register(self, agent: Agent) -> None:
        """Write at once what an agent says of itself, and tell of it where it now fails, or no longer does."""
        key = AgentKey(agent.namespace, agent.project, agent.name)
        with self.database.writing() as connection:
            was_failing = is_failing(connection, key)
            agents.register(connection, agent)
            tell_report(connection, agent, was_failing=was_failing)

    def find(self, key: AgentKey) -> Agent:
        """One agent; NotFound where there is none."""
        with self.database.reading() as connection:
            return agents.find_agent(connection, key)

    def list(self, namespace: str, project: str) -> list[Agent]:
        """The agents of a project, by name."""
        with self.database.reading() as connection:
            return agents.list_agents(connection, namespace, project)

    def standings(self, namespace: str, project: str) -> dict[str, Standing]:
        """How far each agent of a project is, by name; quicker than `list`."""
        with self.database.reading() as connection:
            return agents.list_standings(connection, namespace, project, self.clock() - ONLINE_WITHIN)

    def forget(self, key: AgentKey) -> None:
        """Forget an agent, and its heartbeat that waits; NotFound where there is none."""
        self.heartbeats.drop(key)
        with self.database.writing() as connection:
            agents.remove_agent(connection, key)
            silence.forget_silence(connection, key)

    def tell_silence(self, after: timedelta) -> None:
        """Tell of agents that were not heard of for so long, and of those that came back; one worker tells of each."""
        now = self.clock()
        with self.database.reading() as connection:
            due = silence.is_due(connection, now - after)
        while due:
            with self.database.writing() as connection:
                swept = silence.sweep(connection, now - after, now)
            due = max(swept) == silence.MOST_AT_ONCE


def is_online(agent: Agent, now: datetime) -> bool:
    """Tell whether an agent was heard of lately."""
    return now - agent.last_seen_at <= ONLINE_WITHIN
