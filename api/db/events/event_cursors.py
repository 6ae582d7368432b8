"""Cursors of the publish-event relay: the last publish of each project with an event, so that each gets exactly one."""

import secrets
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update

from api.db.tables import event_cursors

NAMESPACE = ""  # in place of a project: the cursor of the namespace itself
# In place of a project: the last commit of release whose changes of policies and signers are in the audit trail.
RELEASE = "*"
# The key of the row with the time at which this service started the relay.
_SERVICE = ("", "")
_MOST_NAMED = 500  # in a query: https://www.sqlite.org/limits.html#max_variable_number


class EventCursor(NamedTuple):
    """The last publish of a project with an event, or the last one before the relay started: number and SHA."""

    number: int
    commit: str


def relay_started_at(connection: Connection) -> datetime | None:
    """Return the time at which the relay started; None if it never did."""
    found: datetime | None = connection.execute(select(event_cursors.c.at).where(*_is(*_SERVICE))).scalar_one_or_none()
    return found


def begin(connection: Connection, now: datetime) -> None:
    """Record that the relay starts now."""
    add_cursor(connection, *_SERVICE, EventCursor(0, ""), now)


def list_cursors(
    connection: Connection, namespace: str, projects: Collection[str] | None = None
) -> dict[str, EventCursor]:
    """Return the cursors of a namespace, by project; with `projects`, at least those."""
    query = select(event_cursors).where(event_cursors.c.namespace == namespace)
    if projects is not None and len(projects) <= _MOST_NAMED:
        query = query.where(event_cursors.c.project.in_(projects))
    rows = connection.execute(query)
    return {row.project: EventCursor(row.number, row.commit) for row in rows}


def list_cursor_namespaces(connection: Connection) -> set[str]:
    """Return the namespaces that have a cursor."""
    return set(connection.execute(select(event_cursors.c.namespace).distinct()).scalars()) - {""}


def add_cursor(connection: Connection, namespace: str, project: str, cursor: EventCursor, now: datetime) -> None:
    """Add the cursor of a project that has none."""
    connection.execute(insert(event_cursors).values(namespace=namespace, project=project, at=now, **cursor._asdict()))


def move_cursor(
    connection: Connection, namespace: str, project: str, before: EventCursor, after: EventCursor, now: datetime
) -> bool:
    """Move a cursor from its expected position; False, without a change, if it is no longer there."""
    statement = update(event_cursors).where(*_is(namespace, project), event_cursors.c.commit == before.commit)
    return connection.execute(statement.values(at=now, **after._asdict())).rowcount == 1


def mark_relayed(
    connection: Connection, namespace: str, release: str, newest: Mapping[str, EventCursor], now: datetime
) -> None:
    """Add the cursors of a namespace without any; the first has a random mark, so that no two namespaces share it.

    `release` is the commit of release up to which changes are no news; empty for none.
    """
    add_cursor(connection, namespace, NAMESPACE, EventCursor(0, secrets.token_hex(20)), now)
    add_cursor(connection, namespace, RELEASE, EventCursor(0, release), now)
    for project, cursor in newest.items():
        add_cursor(connection, namespace, project, cursor, now)


def list_numbers(connection: Connection, namespace: str) -> dict[str, int]:
    """Return the number of each project's cursor, in all namespaces of a name, ignoring case."""
    of_name = (func.lower(event_cursors.c.namespace) == namespace.lower(), event_cursors.c.number > 0)
    query = select(event_cursors.c.project, func.max(event_cursors.c.number).label("highest")).where(*of_name)
    return {row.project: row.highest for row in connection.execute(query.group_by(event_cursors.c.project))}


def remove_cursors(connection: Connection, namespace: str) -> None:
    """Remove the cursors of a deleted namespace."""
    connection.execute(delete(event_cursors).where(event_cursors.c.namespace == namespace))


def _is(namespace: str, project: str) -> tuple[Any, ...]:
    return event_cursors.c.namespace == namespace, event_cursors.c.project == project
