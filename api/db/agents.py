"""The table of agents: the last report of each, and the time of its last heartbeat."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, RowMapping, and_, case, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from api.db.tables import agents, silent_agents
from gitstore.errors import NotFound

DEFAULT_TYPE = "default"

_KEY = ("namespace", "project", "name")
_ERROR = "error"


class AgentKey(NamedTuple):
    """The primary key of an agent."""

    namespace: str
    project: str
    name: str


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent with its last report.

    `version` is the reported number or text, None if it never registered; `commit` and `publish_number` are resolved
    from it at that time, None if unknown. `load_duration` is in nanoseconds. `loaded_at` is the time of the first
    report of this commit without an error, None before that.
    """

    namespace: str
    project: str
    name: str
    type: str
    created_at: datetime
    last_seen_at: datetime
    version: int | str | None = None
    commit: str | None = None
    publish_number: int | None = None
    status: str | None = None
    load_duration: int | None = None
    error: str | None = None
    loaded_at: datetime | None = None

    @property
    def failed(self) -> bool:
        """True if its last report was an error; an agent without a report has not failed."""
        return self.status == _ERROR


class AgentProgress(NamedTuple):
    """The publish number that an agent runs, None if it is unknown or the agent reports an error."""

    number: int | None
    online: bool


def register(connection: Connection, agent: Agent) -> None:
    """Replace the report of an agent; `created_at` stays."""
    row = asdict(agent) | {"version": None if agent.version is None else orjson.dumps(agent.version).decode()}
    insertion = _insert(connection).values(row)
    kept = {*_KEY, "created_at", "last_seen_at"}
    said = {name: insertion.excluded[name] for name in row if name not in kept}
    moments = {"last_seen_at": _later(insertion.excluded.last_seen_at), "loaded_at": _first(insertion.excluded)}
    statement = insertion.on_conflict_do_update(index_elements=_KEY, set_={**said, **moments})
    connection.execute(statement)


def note_seen(connection: Connection, seen: Iterable[tuple[AgentKey, datetime]]) -> None:
    """Set the times of agents' last heartbeats, never to an earlier time; create agents that are unknown."""
    rows = [
        {**key._asdict(), "type": DEFAULT_TYPE, "created_at": moment, "last_seen_at": moment} for key, moment in seen
    ]
    insertion = _insert(connection)
    statement = insertion.on_conflict_do_update(
        index_elements=_KEY, set_={"last_seen_at": _later(insertion.excluded.last_seen_at)}
    )
    if rows:
        connection.execute(statement, rows)


def find_agent(connection: Connection, key: AgentKey) -> Agent:
    """Return an agent; NotFound if it does not exist."""
    row = connection.execute(select(agents).where(*_is(key))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"Agent '{key.name}' does not exist in this project.")
    return _agent(row)


def list_agents(connection: Connection, namespace: str, project: str) -> list[Agent]:
    """Return the agents of a project, by name."""
    query = select(agents).where(agents.c.namespace == namespace, agents.c.project == project)
    return [_agent(row) for row in connection.execute(query.order_by(agents.c.name)).mappings()]


def list_progress(
    connection: Connection, namespace: str, project: str, online_from: datetime
) -> dict[str, AgentProgress]:
    """Return the progress of each agent of a project, by name; online agents sent a heartbeat since `online_from`."""
    number = case((agents.c.status.is_distinct_from(_ERROR), agents.c.publish_number))
    query = select(agents.c.name, number, agents.c.last_seen_at >= online_from)
    found = query.where(agents.c.namespace == namespace, agents.c.project == project)
    return {name: AgentProgress(at, bool(online)) for name, at, online in connection.execute(found)}


def remove_agent(connection: Connection, key: AgentKey) -> None:
    """Remove an agent; NotFound if it does not exist."""
    if connection.execute(delete(agents).where(*_is(key))).rowcount == 0:
        raise NotFound(f"Agent '{key.name}' does not exist in this project.")


def remove_agents_of(connection: Connection, namespace: str) -> None:
    """Remove the agents of a deleted namespace."""
    for table in (agents, silent_agents):
        connection.execute(delete(table).where(table.c.namespace == namespace))


def _insert(connection: Connection) -> Any:
    """Return the insert of the dialect in use."""
    # SQLAlchemy 2.1: both dialects have the same `on_conflict_do_update`, but no class in common.
    # https://docs.sqlalchemy.org/en/21/dialects/sqlite.html#insert-on-conflict-upsert
    return postgresql.insert(agents) if connection.dialect.name == "postgresql" else sqlite.insert(agents)


def _later(moment: Any) -> Any:
    return case((moment > agents.c.last_seen_at, moment), else_=agents.c.last_seen_at)


def _first(said: Any) -> Any:
    """Return the load time of the commit; it stays while the agent reports the same one, even with an error."""
    is_same = and_(said.commit == agents.c.commit, agents.c.loaded_at.is_not(None))
    return case((is_same, agents.c.loaded_at), else_=said.loaded_at)


def _is(key: AgentKey) -> tuple[Any, ...]:
    return (agents.c.namespace == key.namespace, agents.c.project == key.project, agents.c.name == key.name)


def _agent(row: RowMapping) -> Agent:
    version = row["version"]
    return Agent(**{**row, "version": None if version is None else orjson.loads(version)})
