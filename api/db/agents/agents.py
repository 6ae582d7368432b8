"""The table of agents: the last report of each, and the time of its last heartbeat."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, NamedTuple

import orjson
from sqlalchemy import ColumnElement, Connection, RowMapping, and_, bindparam, case, delete, func, select, text, update

from api.db.tables import agents
from api.db.upserts import upsert
from gitstore.errors import NotFound

DEFAULT_TYPE = "default"

_KEY = ("namespace", "project", "name")
_ERROR = "error"
_AT_ONCE = 500  # names per query: https://www.sqlite.org/limits.html#max_variable_number
_DAY_SECONDS = 86_400.0


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


_COLUMNS = tuple(agents.c[each.name] for each in fields(Agent))


class AgentProgress(NamedTuple):
    """The publish that an agent runs: its number, None if it is unknown or the agent reports an error, and its SHA."""

    number: int | None
    online: bool
    commit: str | None = None


class VersionCount(NamedTuple):
    """The number of agents that reported a version; `commit` and `publish_number` are None if it is unknown."""

    version: int | str | None
    commit: str | None
    publish_number: int | None
    agents: int


def minute_of(moment: datetime) -> int:
    """Return the minute of a time, since 1970."""
    return int(moment.timestamp()) // 60


def register(connection: Connection, agent: Agent) -> None:
    """Replace the report of an agent; `created_at` stays."""
    version = None if agent.version is None else orjson.dumps(agent.version).decode()
    row = asdict(agent) | {"version": version, "seen_minute": minute_of(agent.last_seen_at)}
    insertion = upsert(connection, agents).values(row)
    kept = {*_KEY, "created_at", "last_seen_at", "seen_minute"}
    said = {name: insertion.excluded[name] for name in row if name not in kept}
    moments = {**_later(insertion.excluded), "loaded_at": _first(insertion.excluded)}
    statement = insertion.on_conflict_do_update(index_elements=_KEY, set_={**said, **moments})
    connection.execute(statement)


def note_seen(connection: Connection, seen: Sequence[tuple[AgentKey, datetime]]) -> bool:
    """Set the times of known agents' last heartbeats, never to an earlier time; False if some are unknown."""
    if not seen:
        return True
    own = (agents.c[name] == bindparam(f"own_{name}") for name in _KEY)
    statement = update(agents).where(*own).values(_later(_Seen(bindparam("at"), bindparam("minute"))))
    rows = [
        {**{f"own_{name}": text for name, text in key._asdict().items()}, "at": moment, "minute": minute_of(moment)}
        for key, moment in seen
    ]
    return connection.execute(statement, rows).rowcount == len(rows)


def add_seen(connection: Connection, seen: Iterable[tuple[AgentKey, datetime]]) -> None:
    """Add agents that are known by a heartbeat only."""
    rows = [
        {
            **key._asdict(),
            "type": DEFAULT_TYPE,
            "created_at": moment,
            "last_seen_at": moment,
            "seen_minute": minute_of(moment),
        }
        for key, moment in seen
    ]
    insertion = upsert(connection, agents)
    statement = insertion.on_conflict_do_update(index_elements=_KEY, set_=_later(insertion.excluded))
    if rows:
        connection.execute(statement, rows)


def known_agents(connection: Connection, keys: Iterable[AgentKey]) -> set[AgentKey]:
    """Return the agents among these keys that exist."""
    names: dict[tuple[str, str], list[str]] = {}
    for key in keys:
        names.setdefault((key.namespace, key.project), []).append(key.name)
    return {
        AgentKey(namespace, project, name)
        for (namespace, project), wanted in names.items()
        for start in range(0, len(wanted), _AT_ONCE)
        for name in connection.execute(
            select(agents.c.name).where(*_of(namespace, project), agents.c.name.in_(wanted[start : start + _AT_ONCE]))
        ).scalars()
    }


def count_agents(
    connection: Connection, namespace: str, project: str, wanted: Sequence[ColumnElement[bool]] = ()
) -> int:
    """Return the number of agents of a project for which the `wanted` conditions are true."""
    query = select(func.count()).select_from(agents).where(*_of(namespace, project), *wanted)
    return int(connection.execute(query).scalar_one())


def find_agent(connection: Connection, key: AgentKey) -> Agent:
    """Return an agent; NotFound if it does not exist."""
    row = connection.execute(select(*_COLUMNS).where(*_is(key))).mappings().one_or_none()
    if row is None:
        raise NotFound(f"Agent '{key.name}' does not exist in this project.")
    return _agent(row)


def list_agents(
    connection: Connection,
    namespace: str,
    project: str,
    limit: int,
    offset: int,
    after: str = "",
    wanted: Sequence[ColumnElement[bool]] = (),
) -> list[Agent]:
    """Return a window of the `wanted` agents of a project after a name, by name; `offset` of them are stepped over."""
    own = (*_of(namespace, project), agents.c.name > after, *wanted)
    query = select(*_COLUMNS).where(*own).order_by(agents.c.name)
    if offset:
        names = select(agents.c.name).where(*own).order_by(agents.c.name)
        first = names.limit(1).offset(offset).scalar_subquery()  # from the index alone: no rows before it are read
        query = query.where(agents.c.name >= first)
    return [_agent(row) for row in connection.execute(query.limit(limit)).mappings()]


def count_versions(connection: Connection, namespace: str, project: str, most: int) -> list[VersionCount]:
    """Return the agents of each version, newest first, then of unknown ones, most agents first; `most` of each kind."""
    number = func.count().label("agents")
    publish = (agents.c.commit, agents.c.publish_number)
    newest = (agents.c.publish_number.desc(), agents.c.commit)
    known = select(*publish, number).where(*_of(namespace, project), agents.c.commit.is_not(None)).group_by(*publish)
    other = select(agents.c.version, number).where(*_of(namespace, project), agents.c.commit.is_(None))
    most_agents = other.group_by(agents.c.version).order_by(number.desc(), agents.c.version).limit(most)
    return [
        VersionCount(None, row.commit, row.publish_number, row.agents)
        for row in connection.execute(known.order_by(*newest).limit(most))
    ] + [VersionCount(_load_version(row.version), None, None, row.agents) for row in connection.execute(most_agents)]


def count_online(connection: Connection, namespace: str, project: str, online_from: datetime) -> tuple[int, int]:
    """Return the number of agents that sent a heartbeat since a time, and of those of them that report an error."""
    query = select(func.count(), func.count(case((agents.c.status == _ERROR, 1)))).select_from(agents)
    online, failing = connection.execute(query.where(*_online(namespace, project, online_from))).one()
    return int(online), int(failing)


def count_failing(connection: Connection, online_from: datetime) -> list[tuple[AgentKey, int]]:
    """Return the projects with online agents that report an error, with the name of the first and their number.

    It reads those agents only.
    """
    number = func.count().label("agents")
    own = (text("status = 'error'"), agents.c.last_seen_at >= online_from)  # the words of the index
    query = select(agents.c.namespace, agents.c.project, func.min(agents.c.name), number).where(*own)
    found = connection.execute(query.group_by(agents.c.namespace, agents.c.project))
    return [(AgentKey(namespace, project, name), count) for namespace, project, name, count in found]


def load_seconds(
    connection: Connection,
    namespace: str,
    project: str,
    online_from: datetime,
    commits: Collection[str],
    published: datetime,
    shares: Sequence[int],
) -> tuple[int, list[float | None]]:
    """Return how many online agents run one of these commits, and after how many seconds shares of them had it.

    A share is a number of agents. For an agent that was created after the publish, the time since its creation counts.
    """
    begin = case((agents.c.created_at > published, agents.c.created_at), else_=published)
    took = _seconds_between(connection, begin, func.coalesce(agents.c.loaded_at, agents.c.last_seen_at))
    # From the index alone: asked for whole rows at once, SQLite reads those of all agents of the project.
    with_commit = agents.alias()
    theirs = (with_commit.c.namespace == namespace, with_commit.c.project == project, with_commit.c.commit.in_(commits))
    loaded = agents.c.name.in_(select(with_commit.c.name).where(*theirs))
    own = (*_online(namespace, project, online_from), _runs(), loaded)
    place = func.row_number().over(order_by=took).label("place")
    ranked = select(took.label("took"), place).where(*own).subquery()
    number = int(connection.execute(select(func.count()).select_from(agents).where(*own)).scalar_one())
    rows = connection.execute(select(ranked.c.place, ranked.c.took).where(ranked.c.place.in_(shares)))
    found = {row.place: max(0.0, float(row.took)) for row in rows}
    return number, [found.get(share) for share in shares]


def list_progress(
    connection: Connection, namespace: str, project: str, online_from: datetime
) -> dict[str, AgentProgress]:
    """Return the progress of each agent of a project, by name; online agents sent a heartbeat since `online_from`."""
    number = case((_runs(), agents.c.publish_number))
    query = select(agents.c.name, number, agents.c.last_seen_at >= online_from, agents.c.commit)
    found = connection.execute(query.where(*_of(namespace, project)))
    return {name: AgentProgress(at, bool(online), commit) for name, at, online, commit in found}


def remove_agent(connection: Connection, key: AgentKey) -> None:
    """Remove an agent; NotFound if it does not exist."""
    if connection.execute(delete(agents).where(*_is(key))).rowcount == 0:
        raise NotFound(f"Agent '{key.name}' does not exist in this project.")


def remove_agents_of(connection: Connection, namespace: str) -> None:
    """Remove the agents of a deleted namespace."""
    connection.execute(delete(agents).where(agents.c.namespace == namespace))


def _of(namespace: str, project: str) -> tuple[ColumnElement[bool], ...]:
    return agents.c.namespace == namespace, agents.c.project == project


def _online(namespace: str, project: str, online_from: datetime) -> tuple[ColumnElement[bool], ...]:
    return (*_of(namespace, project), agents.c.last_seen_at >= online_from)


def _runs() -> ColumnElement[bool]:
    """Match agents that do not report an error."""
    return agents.c.status.is_distinct_from(_ERROR)


def _seconds_between(connection: Connection, begin: Any, end: Any) -> Any:
    if connection.dialect.name == "postgresql":
        return func.extract("epoch", end - begin)
    # SQLite has no type for times: https://www.sqlite.org/lang_datefunc.html
    return (func.julianday(end) - func.julianday(begin)) * _DAY_SECONDS


class _Seen(NamedTuple):
    """The parameters of a heartbeat."""

    last_seen_at: Any
    seen_minute: Any


def _later(said: Any) -> dict[str, Any]:
    """Return the columns of the last heartbeat, never set to an earlier time."""
    own = {name: (getattr(said, name), agents.c[name]) for name in _Seen._fields}
    return {name: case((new > known, new), else_=known) for name, (new, known) in own.items()}


def _first(said: Any) -> Any:
    """Return the load time of the commit; it stays while the agent reports the same one, even with an error."""
    is_same = and_(said.commit == agents.c.commit, agents.c.loaded_at.is_not(None))
    return case((is_same, agents.c.loaded_at), else_=said.loaded_at)


def _is(key: AgentKey) -> tuple[Any, ...]:
    return (agents.c.namespace == key.namespace, agents.c.project == key.project, agents.c.name == key.name)


def _agent(row: RowMapping) -> Agent:
    return Agent(**{**row, "version": _load_version(row["version"])})


def _load_version(text: str | None) -> int | str | None:
    version: int | str | None = None if text is None else orjson.loads(text)
    return version
