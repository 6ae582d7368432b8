"""The hash chain of the audit trail: each row has the hash of the row before it, and the head has the newest."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select, update

from api.db.errors import StateBroken
from api.db.tables import audit, audit_head

START = "0" * 64  # before the first row
_BATCH = 1000
_NO_HEAD = (
    "The head of the audit trail is missing, or there are several. Run `waypost audit verify`, and restore a backup."
)
_LATER = frozenset(("token_id", "token_name"))  # columns that a later migration than that of the chain adds


class Link(NamedTuple):
    """A place in the chain: the id of a row, 0 before the first, and its hash."""

    number: int
    hash: str


class AuditEnds(NamedTuple):
    """The newest place of the chain, and the newest one whose row was removed, after which the trail begins."""

    head: Link = Link(0, "")
    removed: Link = Link(0, START)


def append_rows(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Add rows at the end of the chain.

    The lock on the head is held until the commit, so two nodes never continue from the same row. It has to be the last
    lock of a transaction: others that hold it would wait for the rest of the transaction.
    """
    head = _lock_head(connection)
    for row in rows:
        head = _link(row, head)
    connection.execute(insert(audit), rows)
    connection.execute(update(audit_head).where(audit_head.c.id == 1).values(head._asdict()))


def read_head(connection: Connection) -> Link:
    """Return the newest place of the chain; StateBroken where there is not exactly one."""
    found = find_head(connection)
    if found is None:
        raise StateBroken(_NO_HEAD)
    return found


def find_head(connection: Connection) -> Link | None:
    """Return the newest place of the chain; None where there is not exactly one, so that it was tampered with."""
    found = connection.execute(select(audit_head.c.number, audit_head.c.hash)).all()
    return Link(*found[0]) if len(found) == 1 else None


def chain_existing(connection: Connection) -> None:
    """Chain the rows that were there before the chain, in the order of their ids."""
    head, columns = Link(0, START), [column for column in audit.c if column.name not in _LATER]
    for row in connection.execute(select(*columns).order_by(audit.c.id)).mappings().all():
        values = dict(row)
        head = _link(values, head, number=values["id"])
        linked = {"previous": values["previous"], "hash": values["hash"]}
        connection.execute(update(audit).where(audit.c.id == values["id"]).values(linked))
    _add_head(connection, head)


def start_chain(connection: Connection) -> None:
    """Add the head of a trail that has no rows yet."""
    _add_head(connection, Link(0, START))


def read_rows(connection: Connection, after: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows after an id, oldest first, in batches; without one all, also those with ids that none of ours has."""
    while True:
        query = select(audit).order_by(audit.c.id).limit(_BATCH)
        query = query if after is None else query.where(audit.c.id > after)
        rows = connection.execute(query).mappings().all()
        yield from map(dict, rows)
        if len(rows) < _BATCH:
            return
        after = rows[-1]["id"]


def dump_body(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the hash of a row covers, in the form of an export; times are UTC with microseconds.

    `token` is left out where there is none, as in rows from before it was recorded.
    """
    parts = {"id": row.get("token_id"), "name": row.get("token_name")}
    token = {"token": parts} if any(part is not None for part in parts.values()) else {}
    return {
        "id": row["id"],
        "at": dump_moment(row["at"]),
        "event": row["event"],
        "actor": {"kind": row["actor_kind"], "id": row["actor_id"], "name": row["actor_name"]},
        "subject": row["subject"],
        "namespace": row["namespace"],
        "project": row["project"],
        "address": row["address"],
        "session": row["session"],
        "request": row["request"],
        "count": row["count"],
        "detail": row["detail"],
        "previous": row["previous"],
        **token,
    }


def dump_canonical(body: Mapping[str, Any]) -> bytes:
    """Return JSON of one form: sorted names, no spaces, ASCII."""
    return json.dumps(body, sort_keys=True, separators=(",", ":")).encode("ascii")


def hash_body(body: Mapping[str, Any]) -> str:
    """Return the hash of a row: SHA-256 of its canonical JSON, which has the hash of the row before it."""
    return sha256(dump_canonical(body)).hexdigest()


def _link(row: dict[str, Any], head: Link, number: int = 0) -> Link:
    row["id"], row["previous"] = number or head.number + 1, head.hash
    row["hash"] = hash_body(dump_body(row))
    return Link(row["id"], row["hash"])


def _add_head(connection: Connection, head: Link) -> None:
    connection.execute(insert(audit_head).values(id=1, **head._asdict()))


def _lock_head(connection: Connection) -> Link:
    # SQLite has one writer at a time, and no FOR UPDATE, which SQLAlchemy leaves out there.
    query = select(audit_head.c.number, audit_head.c.hash).where(audit_head.c.id == 1)
    found = connection.execute(query.with_for_update()).one_or_none()
    if found is None:
        raise StateBroken(_NO_HEAD)
    return Link(*found)


def dump_moment(moment: datetime) -> str:
    """Return a time as the hash covers it."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
