"""Checkpoints of the audit trail: each names the newest of the rows that were removed, and has the hash of the one before it."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import Connection, insert, select

from api.db.audit_chain import START, Link, dump_canonical, dump_moment
from api.db.tables import audit_checkpoints


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A removal of rows: the first row that is left continues from the row `number` with its `hash`.

    `count` rows were removed since the checkpoint before, whose digest is `previous`. `key` and `signature` are empty
    where the service has no key.
    """

    number: int
    hash: str
    count: int
    at: datetime
    previous: str = START
    key: str = ""
    signature: str = ""

    @property
    def link(self) -> Link:
        """The place of the chain that it names."""
        return Link(self.number, self.hash)

    def signed_data(self) -> bytes:
        """Return the bytes that the signature covers; they begin unlike all others that the key signs."""
        body = {name: value for name, value in self.dump().items() if name not in {"key", "signature"}}
        return b"waypost-audit-checkpoint\n" + dump_canonical(body)

    def digest(self) -> str:
        """Return the hash of the whole checkpoint, which the next one has."""
        return sha256(dump_canonical(self.dump())).hexdigest()

    def dump(self) -> dict[str, Any]:
        """Return it as it is exported."""
        return {
            "number": self.number,
            "hash": self.hash,
            "count": self.count,
            "at": dump_moment(self.at),
            "previous": self.previous,
            "key": self.key or None,
            "signature": self.signature or None,
        }


class CheckpointKeys(NamedTuple):
    """The keys of the service; the defaults are those of a service without any.

    `sign` returns a checkpoint with its signature, where there is a key for it; `verify` tells whether it has one by a key
    of the service.
    """

    sign: Callable[[Checkpoint], Checkpoint] = lambda checkpoint: checkpoint
    verify: Callable[[Checkpoint], bool] = lambda _checkpoint: False
    has_keys: bool = False


def list_checkpoints(connection: Connection, after: int = 0) -> list[Checkpoint]:
    """Return the checkpoints after a row, oldest first."""
    query = select(audit_checkpoints).where(audit_checkpoints.c.number > after).order_by(audit_checkpoints.c.number)
    return [Checkpoint(**row) for row in connection.execute(query).mappings()]


def newest_checkpoint(connection: Connection) -> Checkpoint | None:
    """Return the newest checkpoint; None if no row was ever removed."""
    query = select(audit_checkpoints).order_by(audit_checkpoints.c.number.desc()).limit(1)
    row = connection.execute(query).mappings().one_or_none()
    return Checkpoint(**row) if row else None


def add_checkpoint(connection: Connection, checkpoint: Checkpoint) -> None:
    """Store a checkpoint, in the transaction that removes its rows."""
    connection.execute(insert(audit_checkpoints), [asdict(checkpoint)])
