"""The table of pull requests that publishes have opened on hosts: the newest one of each draft of each node.

Each node has drafts of its own, so it has branches and pull requests of its own for them, also where several nodes use one
database.
"""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, select, update

from api.db.tables import pull_requests
from api.db.upserts import put_row

PUSHED = "pushed"
"""The state while only the branch is on the upstream."""
ANY_NODE = ""
"""The node of a pull request that was opened before records had a node: the first one that publishes takes it over."""


@dataclass(frozen=True, slots=True)
class StoredPull:
    """The pull request of a draft of a node: its branch on the upstream, the commit that was pushed there, and its state.

    `number` is 0 while only the branch was pushed, `commit` is empty while the branch is only claimed.
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
    node: str = ANY_NODE


def find_pull(
    connection: Connection, namespace: str, project: str, draft: str, node: str = ANY_NODE
) -> StoredPull | None:
    """Return the pull request of a draft of a node, else one that no node has; None without one."""
    query = select(pull_requests).where(_of(namespace, project, draft), pull_requests.c.node.in_((node, ANY_NODE)))
    row = connection.execute(query.order_by(pull_requests.c.node.desc()).limit(1)).one_or_none()
    return None if row is None else _load(row)


def list_branches(connection: Connection, namespace: str) -> set[str]:
    """Return the branches of the upstream that pull requests of any node have."""
    query = select(pull_requests.c.branch).where(pull_requests.c.namespace == namespace)
    return set(connection.execute(query).scalars())


def list_unfinished(
    connection: Connection, states: Collection[str], node: str = ANY_NODE
) -> dict[str, list[StoredPull]]:
    """Return the pull requests in some states that are of a node, or of none, by namespace."""
    mine = and_(pull_requests.c.state.in_(states), pull_requests.c.node.in_((node, ANY_NODE)))
    query = select(pull_requests).where(mine).order_by(pull_requests.c.id)
    found = dict[str, list[StoredPull]]()
    for row in connection.execute(query):
        found.setdefault(row.namespace, []).append(_load(row))
    return found


def put_pull(connection: Connection, pull: StoredPull) -> None:
    """Store the pull request of a draft of a node, in place of an earlier one, also of one that no node had."""
    if pull.node != ANY_NODE:
        old = and_(_of(pull.namespace, pull.project, pull.draft), pull_requests.c.node == ANY_NODE)
        connection.execute(delete(pull_requests).where(old))
    put_row(connection, pull_requests, ("namespace", "project", "draft", "node"), asdict(pull))


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
        pull_requests.c.node == pull.node,
        pull_requests.c.commit == pull.commit,
        pull_requests.c.number == pull.number,
    )


def _load(row: Row[Any]) -> StoredPull:
    return StoredPull(
        row.namespace,
        row.project,
        row.draft,
        row.branch,
        row.commit,
        row.number,
        row.url,
        row.state,
        row.at,
        row.node,
    )
