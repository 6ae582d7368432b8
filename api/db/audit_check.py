"""The check of the audit trail's hash chain: a changed, missing, added or cut-off row shows."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from api.db.audit_chain import START, Checkpoint, Link, dump_body, hash_body, read_checkpoint, read_head, read_rows

_MOST_FAULTS = 20

Verify = Callable[[Checkpoint], bool]


@dataclass(frozen=True, slots=True)
class ChainReport:
    """The result of a check: faults, a sentence each, the number of rows, and the head that they reach."""

    faults: tuple[str, ...]
    rows: int
    head: Link


def check_chain(connection: Connection, verify: Verify, seen: Iterable[Link] = ()) -> ChainReport:
    """Check all rows against their hashes, the checkpoint and the head.

    `seen` are places of the chain that were noted outside of the database, as from an export: an attacker with write
    access to the database can compute all its hashes again, but cannot change those.
    """
    walk = _Walk(read_checkpoint(connection), verify, {link.number: link.hash for link in seen})
    for row in read_rows(connection):
        walk.add(dump_body(row), row["hash"])
    return walk.finish(read_head(connection))


class _Walk:
    def __init__(self, checkpoint: Checkpoint | None, verify: Verify, seen: Mapping[int, str]) -> None:
        self._faults: list[str] = []
        self._seen = dict(seen)
        self._rows = 0
        self._last = Link(checkpoint.number, checkpoint.hash) if checkpoint else Link(0, START)
        if checkpoint and not verify(checkpoint):
            self._report(f"The signature of the checkpoint at row {checkpoint.number} is not by a key of the service.")
        self._compare_seen(self._last)

    def add(self, body: Mapping[str, Any], stored: str) -> None:
        number, found = body["id"], hash_body(body)
        if found != stored:
            self._report(f"Row {number} was changed: its content does not match its hash.")
        if body["previous"] != self._last.hash:
            self._report(
                f"Rows are missing or were added before row {number}: it does not follow row {self._last.number}."
            )
        self._last = Link(number, stored)
        self._rows += 1
        self._compare_seen(self._last)

    def finish(self, head: Link) -> ChainReport:
        if head != self._last:
            self._report(
                f"The end is cut off: the last row is {self._last.number}, and the head of the chain is row {head.number}."
            )
        for number in sorted(self._seen):
            if number > self._last.number:
                self._report(f"The end is cut off: row {number}, which was noted, is missing.")
        return ChainReport(tuple(self._faults), self._rows, head)

    def _compare_seen(self, link: Link) -> None:
        noted = self._seen.get(link.number)
        if noted is not None and noted != link.hash:
            self._report(f"Row {link.number} has another hash than the one that was noted: the chain was rewritten.")

    def _report(self, fault: str) -> None:
        if len(self._faults) < _MOST_FAULTS:
            self._faults.append(fault)
