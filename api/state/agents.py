"""Agents as rows: what each said when it registered, and when it was last heard of."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, RowMapping, and_, case, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from api.state.tables import agents
from gitstore.errors import NotFound

DEFAULT_TYPE = "default"

_KEY = ("namespace", "project", "name")
_ERROR = "error"


class AgentKey(NamedTuple):
    """What an agent is known by."""

    namespace: str
    project: str
    name: str


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent.

    `version` is what it sent, a number or text, None if it never registered; `commit` and `publish_number`
    are what that stood for then, None where it was unknown. `load_duration` is in nanoseconds. `loaded_at` is when
    it first reported this commit, and no error; None where it has not.
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
        """True where its last report was of an error; saying nothing is no error."""
        return self.status == _ERROR


class Standing(NamedTuple):
    """How far an agent is: the publish that it runs, None where that is not known or it reports an error."""

    number: int | None
    online: bool


def register(connection: Connection, agent: Agent) -> None:
    """Store what an agent says of itself in place of what it said before; `created_at` stays."""
    row = asdict(agent) | {"version": None if agent.version is None else orjson.dumps(agent.version).decode()}
    insertion = _insert(connection).values(row)
    kept = {*_KEY, "created_at", "last_seen_at"}
    said = {name: insertion.excluded[name] for name in row if name not in kept}
    moments = {"last_seen_at": _later(insertion.excluded.last_seen_at), "loaded_at": _first(insertion.excluded)}
    statement = insertion.on_conflict_do_update(index_elements=_KEY, set_={**said, **moments})
    connection.execute(statement)


def note_seen(connection: Connection, seen: Iterable[tuple[AgentKey, datetime]]) -> None:
    """Move when agents were last heard of, never backwards; an agent that is not known yet is made."""
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
    """One agent; NotFound where there is none."""
    row = connection.execute(select(agents).where(*_is(key))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"There is no agent '{key.name}' in this project.")
    return _agent(row)


def list_agents(connection: Connection, namespace: str, project: str) -> list[Agent]:
    """The agents of a project, by name."""
    query = select(agents).where(agents.c.namespace == namespace, agents.c.project == project)
    return [_agent(row) for row in connection.execute(query.order_by(agents.c.name)).mappings()]


def list_standings(connection: Connection, namespace: str, project: str, online_from: datetime) -> dict[str, Standing]:
    """How far each agent of a project is, by name; online are those that were heard of since then."""
    number = case((agents.c.status.is_distinct_from(_ERROR), agents.c.publish_number))
    query = select(agents.c.name, number, agents.c.last_seen_at >= online_from)
    found = query.where(agents.c.namespace == namespace, agents.c.project == project)
    return {name: Standing(at, bool(online)) for name, at, online in connection.execute(found)}


def count_agents(connection: Connection, namespace: str, project: str) -> int:
    """How many agents a project has."""
    query = select(func.count()).select_from(agents)
    found = query.where(agents.c.namespace == namespace, agents.c.project == project)
    return int(connection.execute(found).scalar_one())


def remove_agent(connection: Connection, key: AgentKey) -> None:
    """Forget an agent; NotFound where there is none."""
    if connection.execute(delete(agents).where(*_is(key))).rowcount == 0:
        raise NotFound(f"There is no agent '{key.name}' in this project.")


def _insert(connection: Connection) -> Any:
    """The insert of the dialect in use: both have the same `ON CONFLICT`, but no class in common."""
    return postgresql.insert(agents) if connection.dialect.name == "postgresql" else sqlite.insert(agents)


def _later(moment: Any) -> Any:
    return case((moment > agents.c.last_seen_at, moment), else_=agents.c.last_seen_at)


def _first(said: Any) -> Any:
    """When the commit was loaded: it stays while the agent goes on to report the same one, even with an error later."""
    is_same = and_(said.commit == agents.c.commit, agents.c.loaded_at.is_not(None))
    return case((is_same, agents.c.loaded_at), else_=said.loaded_at)


def _is(key: AgentKey) -> tuple[Any, ...]:
    return (agents.c.namespace == key.namespace, agents.c.project == key.project, agents.c.name == key.name)


def _agent(row: RowMapping) -> Agent:
    version = row["version"]
    return Agent(**{**row, "version": None if version is None else orjson.loads(version)})
