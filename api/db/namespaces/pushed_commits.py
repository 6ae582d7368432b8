"""The table of pushed commits: who brought each commit that release does not have yet.

A row has the ids of many commits, 20 bytes each, all with the same first byte: so a push of any size adds at most 256
rows, and a look-up reads only the rows that can have a commit. The sweeper removes what is not needed any more.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, delete, func, insert, select, update

from api.db.tables import pushed_commits
from gitstore.layout import CommitId

_WIDTH = 20
_OPEN = pushed_commits.c.archive.is_(None)


class PushedCommits(NamedTuple):
    """A row: commits that one person brought at one time."""

    id: int
    at: datetime
    commits: tuple[CommitId, ...]


def add_pushed(connection: Connection, namespace: str, email: str, commits: Collection[CommitId], at: datetime) -> None:
    """Record that a person brought commits."""
    groups = defaultdict[int, list[bytes]](list)
    for commit in sorted(map(bytes.fromhex, commits)):
        groups[commit[0]].append(commit)
    rows = [
        {"at": at, "namespace": namespace, "email": email, "first_byte": first, "commits": b"".join(found)}
        for first, found in groups.items()
    ]
    if rows:
        connection.execute(insert(pushed_commits), rows)


def find_pushers(connection: Connection, namespace: str, commits: Collection[CommitId]) -> set[str]:
    """Return the addresses of the people who brought any of these commits."""
    wanted = {bytes.fromhex(commit) for commit in commits}
    columns = pushed_commits.c.email, pushed_commits.c.commits
    firsts = {commit[0] for commit in wanted}
    query = select(*columns).where(
        pushed_commits.c.namespace == namespace, pushed_commits.c.first_byte.in_(firsts), _OPEN
    )
    return {row.email for row in connection.execute(query) if not wanted.isdisjoint(_split(row.commits))}


def list_namespaces(connection: Connection) -> Mapping[str, int]:
    """Return the namespaces with pushed commits, each with the id of its newest row."""
    columns = pushed_commits.c.namespace, func.max(pushed_commits.c.id)
    query = select(*columns).where(_OPEN).group_by(pushed_commits.c.namespace)
    return {row[0]: row[1] for row in connection.execute(query)}


def list_pushed(connection: Connection, namespace: str) -> list[PushedCommits]:
    """Return the pushed commits of a namespace."""
    query = select(pushed_commits).where(pushed_commits.c.namespace == namespace, _OPEN)
    return [
        PushedCommits(row.id, row.at, tuple(CommitId(each.hex()) for each in _split(row.commits)))
        for row in connection.execute(query)
    ]


def keep_pushed(connection: Connection, number: int, commits: Collection[CommitId]) -> None:
    """Keep only these commits of a row; without any, remove it."""
    row = (pushed_commits.c.id == number, _OPEN)
    data = b"".join(sorted(map(bytes.fromhex, commits)))
    connection.execute(
        update(pushed_commits).where(*row).values(commits=data) if data else delete(pushed_commits).where(*row)
    )


def archive_pushed(connection: Connection, namespace: str, archive: str) -> None:
    """Put the pushed commits of an archived namespace away, as its remarks."""
    own = (pushed_commits.c.namespace == namespace, _OPEN)
    connection.execute(update(pushed_commits).where(*own).values(archive=archive))


def restore_pushed(connection: Connection, namespace: str, archive: str) -> None:
    """Bring the pushed commits of an archived namespace back."""
    archived = (pushed_commits.c.namespace == namespace, pushed_commits.c.archive == archive)
    connection.execute(update(pushed_commits).where(*archived).values(archive=None))


def remove_pushed_of(connection: Connection, namespace: str) -> None:
    """Remove the pushed commits of a deleted namespace whose archive is gone."""
    connection.execute(delete(pushed_commits).where(pushed_commits.c.namespace == namespace, _OPEN))


def _split(data: bytes) -> Iterator[bytes]:
    return (data[at : at + _WIDTH] for at in range(0, len(data), _WIDTH))
