"""The table of commit statuses for hosts: the newest one of each commit and context, sent or still to send."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, not_, or_, select, update

from api.db.tables import commit_statuses
from api.db.upserts import put_row

_MOST_KEPT = 5_000  # of a namespace


@dataclass(frozen=True, slots=True)
class StoredStatus:
    """A status: `state`, `text` and `target` are what the host gets; `attempts` failed so far."""

    namespace: str
    commit: str
    context: str
    state: str
    text: str
    target: str
    attempts: int = 0


def is_noted(connection: Connection, status: StoredStatus) -> bool:
    """Tell whether the same status was noted before."""
    return connection.execute(select(commit_statuses.c.id).where(_same(status))).first() is not None


def note_status(connection: Connection, status: StoredStatus, now: datetime) -> bool:
    """Store a status to be sent at once; false where the same one was noted before."""
    row = {**asdict(status), "attempts": 0, "due_at": now, "error": "", "at": now}
    key = ("namespace", "commit", "context")
    is_new = put_row(connection, commit_statuses, key, row, only_if=not_(_same(status)))
    if is_new:
        _remove_old(connection, status.namespace)
    return is_new


def _place(status: StoredStatus) -> ColumnElement[bool]:
    return and_(
        commit_statuses.c.namespace == status.namespace,
        commit_statuses.c.commit == status.commit,
        commit_statuses.c.context == status.context,
    )


def _same(status: StoredStatus) -> ColumnElement[bool]:
    return and_(
        _place(status),
        commit_statuses.c.state == status.state,
        commit_statuses.c.text == status.text,
        commit_statuses.c.target == status.target,
    )


def _remove_old(connection: Connection, namespace: str) -> None:
    own = commit_statuses.c.namespace == namespace
    oldest = select(commit_statuses.c.id).where(own).order_by(commit_statuses.c.id.desc()).offset(_MOST_KEPT).limit(1)
    last = connection.execute(oldest).scalar_one_or_none()
    if last is not None:
        connection.execute(delete(commit_statuses).where(own, commit_statuses.c.id <= last))


def list_due(connection: Connection, now: datetime) -> frozenset[str]:
    """Return the namespaces with statuses that are due."""
    due = select(commit_statuses.c.namespace).where(commit_statuses.c.due_at <= now).distinct()  # few, by their index
    return frozenset(connection.execute(due).scalars())


def claim_statuses(
    connection: Connection, namespaces: Collection[str], now: datetime, until: datetime, most: int
) -> list[StoredStatus]:
    """Claim due statuses of namespaces until a time, the longest due first; no other node gets them before."""
    due = and_(commit_statuses.c.due_at <= now, commit_statuses.c.namespace.in_(namespaces))
    query = select(commit_statuses).where(due).order_by(commit_statuses.c.due_at, commit_statuses.c.id).limit(most)
    found = list[StoredStatus]()
    for row in connection.execute(query).all():
        mine = and_(commit_statuses.c.id == row.id, commit_statuses.c.due_at == row.due_at)
        if connection.execute(update(commit_statuses).where(mine).values(due_at=until)).rowcount:
            found.append(_load(row))
    return found


def record_attempt(connection: Connection, status: StoredStatus, error: str, due_at: datetime | None) -> None:
    """Record an attempt: `due_at` is the next one, None after the last; nothing where the status has changed meanwhile."""
    values = {"attempts": status.attempts + 1, "error": error, "due_at": due_at}
    connection.execute(update(commit_statuses).where(_same(status)).values(**values))


def retry_statuses(connection: Connection, namespace: str, now: datetime) -> None:
    """Have the statuses that failed so far sent again at once, as after a change of the token."""
    failed = or_(commit_statuses.c.error != "", commit_statuses.c.due_at.is_not(None))
    mine = and_(commit_statuses.c.namespace == namespace, failed)
    connection.execute(update(commit_statuses).where(mine).values(attempts=0, due_at=now))


def forget_statuses(connection: Connection, namespace: str) -> None:
    """Forget the statuses of a namespace, as of another repository."""
    connection.execute(delete(commit_statuses).where(commit_statuses.c.namespace == namespace))


def find_failure(connection: Connection, namespace: str) -> str:
    """Return the error of the newest status if it could not be sent yet; empty if it was, or without any."""
    mine = commit_statuses.c.namespace == namespace
    newest = select(commit_statuses.c.error).where(mine, commit_statuses.c.attempts > 0)
    found = connection.execute(newest.order_by(commit_statuses.c.at.desc(), commit_statuses.c.id.desc()).limit(1))
    return found.scalar_one_or_none() or ""


def _load(row: Row[Any]) -> StoredStatus:
    return StoredStatus(row.namespace, row.commit, row.context, row.state, row.text, row.target, row.attempts)
