"""The faults of content that have an event: each is reported once, until it ends or another publish has one."""

from collections.abc import Mapping

from sqlalchemy import Connection, delete, insert, select

from api.db.events.events import Event, lock_order, record_event
from api.db.tables import content_faults

Reported = Mapping[tuple[str, str], str]  # the fingerprint of the reported fault, by namespace and project


def list_reported(connection: Connection) -> dict[tuple[str, str], str]:
    """Return the reported faults of all namespaces."""
    rows = connection.execute(select(content_faults))
    return {(row.namespace, row.project): row.fingerprint for row in rows}


def report(connection: Connection, event: Event, fingerprint: str) -> None:
    """Record the event of a fault, unless another worker has."""
    lock_order(connection)
    if list_reported(connection).get((event.namespace, event.project)) == fingerprint:
        return
    end(connection, event.namespace, event.project)
    row = {"namespace": event.namespace, "project": event.project, "fingerprint": fingerprint, "at": event.at}
    connection.execute(insert(content_faults).values(row))
    record_event(connection, event)


def end(connection: Connection, namespace: str, project: str | None = None) -> None:
    """Remove the record of a fault that has ended; without a project, all of a namespace."""
    query = delete(content_faults).where(content_faults.c.namespace == namespace)
    connection.execute(query if project is None else query.where(content_faults.c.project == project))
