"""References of the database to content: rows of namespaces that do not exist, and commits that their history lacks."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import func, select

from api.db.database import Connection
from api.db.events.event_cursors import NAMESPACE, RELEASE
from api.db.tables import agents, content_faults, event_cursors, events, pushed_commits, reviews, webhooks


class Orphans(NamedTuple):
    """Rows of a table that name a namespace without being of one."""

    table: str
    namespace: str
    rows: int


class PublishReference(NamedTuple):
    """A publish that the database has announced: the project, its number and its commit."""

    namespace: str
    project: str
    number: int
    commit: str


def find_orphans(connection: Connection, names: Collection[str]) -> list[Orphans]:
    """Return the rows of namespaces that are not among the names; those that were put away with an archive are not looked at."""
    found = list[Orphans]()
    for table in (agents, events, event_cursors, content_faults, webhooks, reviews, pushed_commits):
        query = select(table.c.namespace, func.count()).group_by(table.c.namespace)
        if "archive" in table.c:
            query = query.where(table.c.archive.is_(None))
        rows = connection.execute(query).all()
        found += [Orphans(table.name, name, count) for name, count in rows if name and name not in names]
    return found


def list_publishes(connection: Connection) -> list[PublishReference]:
    """Return the last announced publish of each project."""
    query = select(event_cursors.c.namespace, event_cursors.c.project, event_cursors.c.number, event_cursors.c.commit)
    query = query.where(event_cursors.c.project.not_in([NAMESPACE, RELEASE]))  # which name no publish
    return [PublishReference(*row) for row in connection.execute(query)]
