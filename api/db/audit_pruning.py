"""The removal of old rows of the audit trail, in batches; each leaves a checkpoint, and what does not fit stays as evidence."""

from collections.abc import Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any, NamedTuple

from sqlalchemy import Connection, delete, select

from api.db.audit_chain import START, Link, dump_body, hash_body, read_head
from api.db.audit_checkpoints import Checkpoint, add_checkpoint, newest_checkpoint
from api.db.errors import TrailBroken
from api.db.tables import audit

_BATCH = 1000


class Batch(NamedTuple):
    """The rows to remove: the number of the oldest one, and the checkpoint that they leave; `before` is the one they follow."""

    first: int
    checkpoint: Checkpoint
    before: Checkpoint | None


def find_batch(connection: Connection, cutoff: datetime, now: datetime) -> Batch | None:
    """Return the oldest rows, if they are from before the cutoff; None without such rows.

    A later row ends them, even if older ones follow: times in rows need not rise, and no row is left without its place.
    Raises TrailBroken for rows that were changed, or do not follow the checkpoint.
    """
    oldest = connection.execute(select(audit.c.at).order_by(audit.c.id).limit(1)).scalar()
    if oldest is None or oldest >= cutoff:
        return None
    before = newest_checkpoint(connection)
    query = select(audit).order_by(audit.c.id).limit(_BATCH)
    rows = list(takewhile(lambda row: row["at"] < cutoff, connection.execute(query).mappings()))
    last = _walk(before.link if before else Link(0, START), rows)
    if last.number > read_head(connection).number:
        raise TrailBroken(f"Row {last.number} of the audit trail is behind its end.")
    checkpoint = Checkpoint(*last, len(rows), now, before.digest() if before else START)
    return Batch(rows[0]["id"], checkpoint, before)


def remove_batch(connection: Connection, batch: Batch) -> bool:
    """Remove the rows of a batch, and store its checkpoint; false if another worker was first.

    The lock is that of the oldest row, not of the head: no writer of the trail waits for it.
    """
    oldest = select(audit.c.id).order_by(audit.c.id).limit(1).with_for_update()
    if connection.execute(oldest).scalar() != batch.first or newest_checkpoint(connection) != batch.before:
        return False
    removed = connection.execute(delete(audit).where(audit.c.id <= batch.checkpoint.number)).rowcount
    if removed != batch.checkpoint.count:
        raise TrailBroken(
            f"The rows up to {batch.checkpoint.number} of the audit trail changed while they were removed."
        )
    add_checkpoint(connection, batch.checkpoint)
    return True


def _walk(last: Link, rows: Sequence[Any]) -> Link:
    """Return the place that the rows reach from another one."""
    for row in rows:
        if row["previous"] != last.hash or hash_body(dump_body(row)) != row["hash"]:
            raise TrailBroken(f"Row {row['id']} of the audit trail was changed, or does not follow row {last.number}.")
        last = Link(row["id"], row["hash"])
    return last
