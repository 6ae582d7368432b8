"""The table of upstreams, with their credentials; and the webhooks of hosts that were accepted, so that none counts twice."""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, select, update

from api.db.tables import commit_statuses, host_webhooks, pull_requests, upstreams
from api.db.upserts import add_row, put_row
from gitstore.errors import NotFound

_KEPT = timedelta(days=7)  # hosts repeat a delivery for some hours at most
_MOST_KEPT = 10_000
_KEY = ("namespace", "archive")
_REVISION_BITS = 30  # half of what a PostgreSQL integer holds, so that it can be counted up
_NOT_IN_ETAG = frozenset({"password", "hook_secret", "ssh_key", "host_token", "suspended", "requests"})


@dataclass(frozen=True, slots=True)
class StoredUpstream:
    """The upstream of a namespace. `requests` counts the requests to sync at once, `revision` changes when it is set."""

    namespace: str
    url: str
    mode: str
    branch: str
    username: str = ""
    password: str = field(default="", repr=False)
    hook_secret: str = field(default="", repr=False)
    poll: int = 60
    suspended: bool = False
    requests: int = 0
    ssh_key: str = field(default="", repr=False)
    known_hosts: str = ""
    host: str = ""
    host_url: str = ""
    host_token: str = field(default="", repr=False)
    publish: str = "push"
    path: str = ""
    proposals: str = "none"
    drafts: str = "local"
    trusted_authors: bool = False
    creates: bool = False
    revision: int = 0

    @property
    def etag(self) -> str:
        """16 hex digits that change whenever it is set. No secret can be guessed by it: the revision changes with each of them."""
        shown = {name: value for name, value in asdict(self).items() if name not in _NOT_IN_ETAG}
        return sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:16]

    @property
    def repository(self) -> tuple[str, str, str]:
        """The values that decide the repository, and the host that has its API."""
        return self.url, self.host, self.host_url

    @property
    def base(self) -> tuple[str, str, str, str]:
        """The values that decide the branch that pull requests are for."""
        return (*self.repository, self.branch)


def list_upstreams(connection: Connection) -> list[StoredUpstream]:
    """Return all upstreams in use."""
    rows = connection.execute(select(upstreams).where(upstreams.c.archive == "").order_by(upstreams.c.namespace))
    return [_load(row) for row in rows]


def find_upstream(connection: Connection, namespace: str) -> StoredUpstream | None:
    """Return the upstream of a namespace; None without one."""
    row = connection.execute(select(upstreams).where(_of(namespace))).one_or_none()
    return None if row is None else _load(row)


def lock_upstream(connection: Connection, namespace: str) -> StoredUpstream | None:
    """Return the upstream of a namespace, None without one; no other transaction changes it until the commit."""
    row = connection.execute(select(upstreams).where(_of(namespace)).with_for_update()).one_or_none()
    return None if row is None else _load(row)


def require_upstream(connection: Connection, namespace: str) -> StoredUpstream:
    """Return the upstream of a namespace; NotFound without one."""
    found = find_upstream(connection, namespace)
    if found is None:
        raise no_upstream(namespace)
    return found


def no_upstream(namespace: str) -> NotFound:
    """Return the exception of a namespace without an upstream."""
    return NotFound(f"The namespace {namespace} has no upstream.")


def is_current(connection: Connection, upstream: StoredUpstream) -> bool:
    """Tell whether an upstream that was read before is still of that repository and branch; it stays so until the commit."""
    found = lock_upstream(connection, upstream.namespace)
    return found is not None and found.base == upstream.base


def put_upstream(connection: Connection, upstream: StoredUpstream, *, creates_only: bool = False) -> bool:
    """Store the upstream of a namespace, in place of an earlier one, whose counts go on; false with `creates_only` if one is there.

    The revisions of a new one begin at random: by its settings alone, it could be taken for one that was removed.
    """
    counts = {"requests": upstreams.c.requests + 1, "revision": upstreams.c.revision + 1}
    row = {**asdict(upstream), "archive": "", "revision": secrets.randbits(_REVISION_BITS)}
    if creates_only:  # two at once on PostgreSQL: neither has a row to lock
        return add_row(connection, upstreams, _KEY, row)
    return put_row(connection, upstreams, _KEY, row, counts)


def change_upstream(connection: Connection, namespace: str, changes: Mapping[str, Any]) -> None:
    """Change columns of an upstream."""
    connection.execute(update(upstreams).where(_of(namespace)).values(**changes))


def request_sync(connection: Connection, namespace: str) -> None:
    """Count a request to sync at once, which every node sees."""
    connection.execute(update(upstreams).where(_of(namespace)).values(requests=upstreams.c.requests + 1))


def remove_upstream(connection: Connection, namespace: str) -> None:
    """Remove the upstream of a namespace, and what is known of its host."""
    connection.execute(delete(upstreams).where(_of(namespace)))
    forget_host(connection, namespace)


def archive_upstream(connection: Connection, namespace: str, archive: str) -> None:
    """Put the upstream of an archived namespace away: the next namespace of its name has none."""
    connection.execute(update(upstreams).where(_of(namespace)).values(archive=archive))
    forget_host(connection, namespace)


def restore_upstream(connection: Connection, namespace: str, archive: str) -> None:
    """Bring the upstream of an archived namespace back, suspended: either side may have moved on."""
    archived = and_(upstreams.c.namespace == namespace, upstreams.c.archive == archive)
    connection.execute(update(upstreams).where(archived).values(archive="", suspended=True))


def forget_host(connection: Connection, namespace: str) -> None:
    """Forget the webhooks, pull requests and commit statuses of a namespace."""
    for table in (host_webhooks, pull_requests, commit_statuses):
        connection.execute(delete(table).where(table.c.namespace == namespace))


def note_webhooks(connection: Connection, namespace: str, digests: Sequence[bytes], at: datetime) -> list[bool]:
    """Note the digests of accepted webhooks; tell for each whether it is new. Old ones are forgotten."""
    connection.execute(delete(host_webhooks).where(host_webhooks.c.at < at - _KEPT))
    own = host_webhooks.c.namespace == namespace
    rows = ({"namespace": namespace, "digest": digest, "at": at} for digest in digests)
    found = [add_row(connection, host_webhooks, ("namespace", "digest"), row) for row in rows]
    if any(found):
        oldest = select(host_webhooks.c.id).where(own).order_by(host_webhooks.c.id.desc()).offset(_MOST_KEPT).limit(1)
        last = connection.execute(oldest).scalar_one_or_none()
        if last is not None:
            connection.execute(delete(host_webhooks).where(own, host_webhooks.c.id <= last))
    return found


def _of(namespace: str) -> ColumnElement[bool]:
    return and_(upstreams.c.namespace == namespace, upstreams.c.archive == "")


def _load(row: Row[Any]) -> StoredUpstream:
    return StoredUpstream(**{name: getattr(row, name) for name in _COLUMNS})


_COLUMNS = tuple(each.name for each in fields(StoredUpstream))
