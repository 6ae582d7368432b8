"""The table of pull requests that publishes have opened on hosts: the newest one of each draft."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, insert, select, update

from api.db.tables import pull_requests

PUSHED = "pushed"
"""The state while only the branch is on the upstream."""


@dataclass(frozen=True, slots=True)
class StoredPull:
    """The pull request of a draft: its branch on the upstream, the commit that was pushed there, and its state.

    `number` is 0 while only the branch was pushed.
    """

    namespace: str
    project: str
    draft: str
    branch: str
    commit: str
    number: int
    url: str
    state: str
    at: datetime


def find_pull(connection: Connection, namespace: str, project: str, draft: str) -> StoredPull | None:
    """Return the pull request of a draft; None without one."""
    row = connection.execute(select(pull_requests).where(_of(namespace, project, draft))).one_or_none()
    return None if row is None else _load(row)


def list_unfinished(connection: Connection, states: Collection[str]) -> dict[str, list[StoredPull]]:
    """Return the pull requests in some states, by namespace."""
    query = select(pull_requests).where(pull_requests.c.state.in_(states)).order_by(pull_requests.c.id)
    found = dict[str, list[StoredPull]]()
    for row in connection.execute(query):
        found.setdefault(row.namespace, []).append(_load(row))
    return found


def put_pull(connection: Connection, pull: StoredPull) -> None:
    """Store the pull request of a draft, in place of an earlier one."""
    connection.execute(delete(pull_requests).where(_of(pull.namespace, pull.project, pull.draft)))
    connection.execute(insert(pull_requests).values(**asdict(pull)))


def set_state(connection: Connection, pull: StoredPull, state: str) -> bool:
    """Change the state of a pull request; false where another publish has replaced it meanwhile."""
    return connection.execute(update(pull_requests).where(_same(pull)).values(state=state)).rowcount > 0


def remove_pull(connection: Connection, pull: StoredPull) -> None:
    """Forget a pull request, unless another publish has replaced it meanwhile."""
    connection.execute(delete(pull_requests).where(_same(pull)))


def detach_pulls(connection: Connection, namespace: str) -> None:
    """Forget which pull requests a namespace has: another repository or branch has others. The pushed commits stay known."""
    detached = {"number": 0, "url": "", "state": PUSHED}
    connection.execute(update(pull_requests).where(pull_requests.c.namespace == namespace).values(**detached))


def _of(namespace: str, project: str, draft: str) -> ColumnElement[bool]:
    return and_(
        pull_requests.c.namespace == namespace, pull_requests.c.project == project, pull_requests.c.draft == draft
    )


def _same(pull: StoredPull) -> ColumnElement[bool]:
    return and_(
        _of(pull.namespace, pull.project, pull.draft),
        pull_requests.c.commit == pull.commit,
        pull_requests.c.number == pull.number,
    )


def _load(row: Row[Any]) -> StoredPull:
    return StoredPull(
        row.namespace, row.project, row.draft, row.branch, row.commit, row.number, row.url, row.state, row.at
    )
