"""The tables of earlier namespaces: when a name was freed or taken last, and the publish numbers that it reached."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, func, insert, select, update

from api.db.tables import deleted_namespaces, highest_numbers


class EarlierNamespace(NamedTuple):
    """The last archived namespace of a name, and the last time at which the name was freed or taken."""

    archive: str | None
    at: datetime


def find_earlier(connection: Connection, name: str) -> EarlierNamespace | None:
    """Return the last archived namespace of a name; None if there never was one."""
    query = select(deleted_namespaces.c.archive, deleted_namespaces.c.at).where(deleted_namespaces.c.name == name)
    row = connection.execute(query).one_or_none()
    return EarlierNamespace(row.archive, row.at) if row else None


def note_earlier(connection: Connection, name: str, earlier: EarlierNamespace) -> None:
    """Store the last archived namespace of a name."""
    own = deleted_namespaces.c.name == name
    fields = earlier._asdict()
    if connection.execute(update(deleted_namespaces).where(own).values(fields)).rowcount == 0:
        connection.execute(insert(deleted_namespaces).values(name=name, **fields))


def changed_since(connection: Connection, name: str, moment: datetime) -> bool:
    """Return whether a name was freed or taken after a moment: what was meant then is of another namespace."""
    query = select(deleted_namespaces.c.name).where(deleted_namespaces.c.name == name, deleted_namespaces.c.at > moment)
    return connection.execute(query).first() is not None


def times_of_change(connection: Connection, since: datetime) -> dict[str, datetime]:
    """Return when names were freed or taken, by name; only since a time, and only names with an earlier namespace."""
    query = select(deleted_namespaces.c.name, deleted_namespaces.c.at).where(deleted_namespaces.c.at >= since)
    return {row.name: row.at for row in connection.execute(query)}


def list_highest_numbers(connection: Connection, name: str) -> dict[str, int]:
    """Return the highest publish number of each project in earlier namespaces of a name, ignoring case."""
    of_name = func.lower(highest_numbers.c.namespace) == name.lower()
    query = select(highest_numbers.c.project, func.max(highest_numbers.c.number).label("highest")).where(of_name)
    return {row.project: row.highest for row in connection.execute(query.group_by(highest_numbers.c.project))}


def note_highest_numbers(connection: Connection, name: str, numbers: Mapping[str, int]) -> None:
    """Store the highest publish number of each project; a higher stored one stays."""
    for project, number in sorted(numbers.items()):
        own = (highest_numbers.c.namespace == name, highest_numbers.c.project == project)
        if connection.execute(select(highest_numbers.c.number).where(*own)).first() is None:
            connection.execute(insert(highest_numbers).values(namespace=name, project=project, number=number))
        else:
            higher = update(highest_numbers).where(*own, highest_numbers.c.number < number)
            connection.execute(higher.values(number=number))
