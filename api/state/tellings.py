"""How far the publishes of each project were told: cursors, so that none is told twice and none is left out."""

from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from api.state.tables import tellings

_SERVICE = ("", "")
"""The key of the row that says when this service began to tell."""


class Telling(NamedTuple):
    """The last publish of a project that was told, or that was there before anything was: number and SHA."""

    number: int
    commit: str


def begun_at(connection: Connection) -> datetime | None:
    """When the service began to tell of publishes; None where it never did."""
    found: datetime | None = connection.execute(select(tellings.c.at).where(*_is(*_SERVICE))).scalar_one_or_none()
    return found


def begin(connection: Connection, now: datetime) -> None:
    """Note that the service begins to tell now."""
    add_telling(connection, *_SERVICE, Telling(0, ""), now)


def list_tellings(connection: Connection, namespace: str) -> dict[str, Telling]:
    """The cursors of a namespace by project."""
    rows = connection.execute(select(tellings).where(tellings.c.namespace == namespace))
    return {row.project: Telling(row.number, row.commit) for row in rows}


def told_namespaces(connection: Connection) -> set[str]:
    """The namespaces that have a cursor."""
    return set(connection.execute(select(tellings.c.namespace).distinct()).scalars()) - {""}


def add_telling(connection: Connection, namespace: str, project: str, telling: Telling, now: datetime) -> None:
    """A cursor for what has none."""
    connection.execute(insert(tellings).values(namespace=namespace, project=project, at=now, **telling._asdict()))


def move_telling(
    connection: Connection, namespace: str, project: str, before: Telling, after: Telling, now: datetime
) -> bool:
    """Move a cursor from where it was; False where it is not there any more, and nothing is done."""
    statement = update(tellings).where(*_is(namespace, project), tellings.c.commit == before.commit)
    return connection.execute(statement.values(at=now, **after._asdict())).rowcount == 1


def remove_tellings(connection: Connection, namespace: str) -> None:
    """Forget the cursors of a namespace that is gone."""
    connection.execute(delete(tellings).where(tellings.c.namespace == namespace))


def _is(namespace: str, project: str) -> tuple[Any, ...]:
    return tellings.c.namespace == namespace, tellings.c.project == project
