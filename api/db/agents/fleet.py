"""The agents of all projects: operations on their rows and pending heartbeats. All calls block: run them in threads."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from api.db.agents import agents, inactive_agents
from api.db.agents.agent_events import is_failing, record_report_event
from api.db.agents.agent_filter import EVERY_AGENT, AgentFilter
from api.db.agents.agents import Agent, AgentKey, AgentProgress, VersionCount
from api.db.agents.heartbeats import Heartbeats
from api.db.database import Database
from api.db.earlier_namespaces import changed_since
from api.db.errors import StateBusy
from api.db.timestamps import Clock, utc_now
from gitstore.errors import NotFound

# The largest age of the last heartbeat of an online agent.
ONLINE_WITHIN = timedelta(minutes=2)
MOST_VERSIONS = 500  # in the counts by version, of each kind: known and unknown


class LoadTimes(NamedTuple):
    """The number of online agents that run a publish, and after how many seconds so many of them had it."""

    current: int
    seconds: Mapping[int, float | None]


class AgentCounts(NamedTuple):
    """The number of agents of a project, of those online, of those of them that report an error, and of each version."""

    total: int
    online: int
    failing: int
    versions: Sequence[VersionCount]


@dataclass(frozen=True, slots=True)
class Fleet:
    """The agents of the service; `heartbeats` holds the pending heartbeats of this worker."""

    database: Database
    heartbeats: Heartbeats
    clock: Clock = utc_now

    def register(self, agent: Agent) -> None:
        """Store the report of an agent at once, and record an event if it starts or stops failing.

        Raises TooManyAgents for a new one beyond the limit, NotFound if the namespace was deleted since the report.
        """
        key = AgentKey(agent.namespace, agent.project, agent.name)
        with self.database.writing() as connection:
            if changed_since(connection, agent.namespace, agent.last_seen_at):
                raise NotFound(f"There is no namespace {agent.namespace!r}.")
            was_failing = is_failing(connection, key)
            if was_failing is None and not self.heartbeats.limit.take(connection, key, 1):
                raise self.heartbeats.limit.refuse(key)
            agents.register(connection, agent)
            record_report_event(connection, agent, was_failing=bool(was_failing))

    def note(self, namespace: str, project: str, name: str) -> bool:
        """Record a heartbeat; False if the agent has to be looked up first, or too many are pending."""
        key = AgentKey(namespace, project, name)
        if self.is_full(key):
            return False
        with suppress(StateBusy):
            self.heartbeats.note(key, self.clock())
            return True
        return False

    def is_full(self, key: AgentKey) -> bool:
        """Tell whether a heartbeat of a new agent would be dropped; quick, and false for the known ones of a project."""
        return self.heartbeats.limit.is_full(key)

    def require_known(self, key: AgentKey) -> None:
        """Raise TooManyAgents if an agent of a full project is new."""
        with self.database.reading() as connection:
            if not agents.known_agents(connection, [key]):
                raise self.heartbeats.limit.refuse(key)
        self.heartbeats.limit.remember(key)

    def find(self, key: AgentKey) -> Agent:
        """Return an agent; NotFound if it does not exist."""
        with self.database.reading() as connection:
            return agents.find_agent(connection, key)

    def page(
        self,
        namespace: str,
        project: str,
        limit: int,
        offset: int,
        after: str = "",
        wanted: AgentFilter = EVERY_AGENT,
    ) -> list[Agent]:
        """Return a window of the agents of a project after a name, by name; without a filter it reads no other rows."""
        conditions = wanted.conditions(self.clock() - ONLINE_WITHIN)
        with self.database.reading() as connection:
            return agents.list_agents(connection, namespace, project, limit, offset, after, conditions)

    def count_wanted(self, namespace: str, project: str, wanted: AgentFilter) -> int:
        """Count the agents of a project that a filter chooses."""
        conditions = wanted.conditions(self.clock() - ONLINE_WITHIN)
        with self.database.reading() as connection:
            return agents.count_agents(connection, namespace, project, conditions)

    def count(self, namespace: str, project: str) -> AgentCounts:
        """Count all agents of a project."""
        with self.database.reading() as connection:
            total = agents.count_agents(connection, namespace, project)
            if total == 0:  # as in most projects of an overview
                return AgentCounts(0, 0, 0, ())
            return AgentCounts(
                total,
                *agents.count_online(connection, namespace, project, self.clock() - ONLINE_WITHIN),
                agents.count_versions(connection, namespace, project, MOST_VERSIONS),
            )

    def count_failing(self) -> list[tuple[AgentKey, int]]:
        """Return the projects with online agents that report an error, with the name of the first and their number."""
        with self.database.reading() as connection:
            return agents.count_failing(connection, self.clock() - ONLINE_WITHIN)

    def measure_loads(
        self,
        namespace: str,
        project: str,
        commits: Sequence[str],
        published: datetime,
        places: Sequence[int],
    ) -> LoadTimes:
        """Return how many online agents run one of these commits, and when each of these numbers of them had loaded it.

        It reads the agents with these commits only.
        """
        online_from = self.clock() - ONLINE_WITHIN
        with self.database.reading() as connection:
            current, seconds = agents.load_seconds(
                connection, namespace, project, online_from, commits, published, places
            )
        return LoadTimes(current, dict(zip(places, seconds, strict=True)))

    def list_progress(self, namespace: str, project: str) -> dict[str, AgentProgress]:
        """Return the progress of each agent of a project, by name; faster than `list`."""
        with self.database.reading() as connection:
            return agents.list_progress(connection, namespace, project, self.clock() - ONLINE_WITHIN)

    def forget(self, key: AgentKey) -> None:
        """Remove an agent and its pending heartbeat; NotFound if it does not exist."""
        self.heartbeats.drop(key)
        with self.database.writing() as connection:
            agents.remove_agent(connection, key)
        self.heartbeats.limit.forget(key)

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
