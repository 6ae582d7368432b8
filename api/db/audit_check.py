"""The check of the audit trail's hash chain: a changed, missing, added or cut-off row shows, and a false checkpoint."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from api.db.audit_chain import START, Link, dump_body, find_head, hash_body, read_rows
from api.db.audit_checkpoints import Checkpoint, CheckpointKeys, list_checkpoints
from api.db.tables import users

_MOST_FAULTS = 20


@dataclass(frozen=True, slots=True)
class ChainReport:
    """The result of a check: faults, a sentence each, the number of rows, and the head that they reach.

    `checkpoints` are what takes the place of removed rows, and `notes` what they cannot prove, a sentence each.
    """

    faults: tuple[str, ...]
    rows: int
    head: Link
    checkpoints: tuple[Checkpoint, ...] = ()
    notes: tuple[str, ...] = ()


def check_chain(connection: Connection, keys: CheckpointKeys, seen: Iterable[Link] = ()) -> ChainReport:
    """Check the checkpoints, and all rows against their hashes, the newest checkpoint and the head, in one snapshot.

    `seen` are places of the chain that were noted outside of the database, as from an export: an attacker with write
    access to the database can compute all its hashes again, but cannot change those.
    """
    walk = _Walk(list_checkpoints(connection), seen)
    walk.check_checkpoints(keys)
    try:
        for row in read_rows(connection):
            walk.add(dump_body(row), row["hash"])
    except (
        ValueError,
        TypeError,
        AttributeError,
    ):  # such as a time or JSON that is none, as only other programs write them
        walk.stop()
    walk.check_begin(has_accounts=connection.execute(select(users.c.id).limit(1)).first() is not None)
    return walk.finish(find_head(connection))


class _Walk:
    def __init__(self, checkpoints: Sequence[Checkpoint], seen: Iterable[Link]) -> None:
        self._faults: list[str] = []
        self._notes: list[str] = []
        self._seen: dict[int, str] = {}
        for link in seen:
            if self._seen.setdefault(link.number, link.hash) != link.hash:
                self._report(f"Row {link.number} was noted with two hashes: one of the notes is of another trail.")
        self._rows = 0
        self._is_whole = True
        self._checkpoints = tuple(checkpoints)
        self._last = Link(0, START)

    def check_checkpoints(self, keys: CheckpointKeys) -> None:
        """Check that no checkpoint is missing, changed, or by another key; the rows continue from the newest."""
        digest, was_signed = START, False
        for checkpoint in self._checkpoints:
            if checkpoint.previous != digest:
                self._report(f"{_name(checkpoint)} does not follow the one before it: one was removed or changed.")
            if checkpoint.signature and not keys.verify(checkpoint):
                self._report(f"{_name(checkpoint)} has no valid signature by a key in signing_key or public_keys.")
            elif not checkpoint.signature:
                self._weigh_unsigned(checkpoint, keys, was_signed=was_signed)
            digest, was_signed = checkpoint.digest(), was_signed or bool(checkpoint.signature)
            self._last = checkpoint.link
            self._compare_seen(self._last)

    def _weigh_unsigned(self, checkpoint: Checkpoint, keys: CheckpointKeys, *, was_signed: bool) -> None:
        if was_signed:
            self._report(
                f"{_name(checkpoint)} is not signed, and an earlier one is: it was forged, or made without the key."
            )
        elif keys.has_keys and checkpoint is self._checkpoints[-1]:
            self._report(
                f"{_name(checkpoint)} is not signed, and there is a key: it was forged, or made before there was one. "
                "The next removal of rows makes one with a signature."
            )
        else:
            self._notes.append(
                f"{_name(checkpoint)} is not signed: it does not prove that the service removed the rows before it. "
                "Anyone with write access to the database can remove rows and make one."
            )

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

    def check_begin(self, *, has_accounts: bool) -> None:
        """Report a trail without any row beside accounts: each one was created with an entry."""
        if has_accounts and self._is_whole and not self._rows and not self._checkpoints:
            self._report(
                "The trail is empty, and there are accounts, each of which was created with a row: all rows were removed."
            )

    def stop(self) -> None:
        """Report that a row cannot be read: those after it are not checked."""
        self._report(
            f"A row after row {self._last.number} was changed: it cannot be read. Later rows were not checked."
        )
        self._is_whole = False

    def finish(self, head: Link | None) -> ChainReport:
        """Compare the end with the head, and return what was found."""
        if head is None:
            self._report("The head of the chain is missing, or there are two: it was changed.")
        elif self._is_whole and head != self._last:
            self._report(
                f"The end is cut off: the last row is {self._last.number}, and the head of the chain is row {head.number}."
            )
        begin = self._checkpoints[-1].number if self._checkpoints else 0
        for number in sorted(self._seen):
            if number > self._last.number:
                self._report(f"The end is cut off: row {number}, which was noted, is missing.")
            elif number <= begin:
                self._notes.append(f"Row {number}, which was noted, was removed with age: it cannot be compared.")
            else:
                self._report(f"Row {number}, which was noted, is missing: the chain was rewritten.")
        return ChainReport(
            tuple(self._faults), self._rows, head or self._last, self._checkpoints, tuple(self._notes[:_MOST_FAULTS])
        )

    def _compare_seen(self, link: Link) -> None:
        noted = self._seen.pop(link.number, None)
        if noted is not None and noted != link.hash:
            self._report(f"Row {link.number} has another hash than the one that was noted: the chain was rewritten.")

    def _report(self, fault: str) -> None:
        if len(self._faults) < _MOST_FAULTS:
            self._faults.append(fault)


def _name(checkpoint: Checkpoint) -> str:
    return f"The checkpoint at row {checkpoint.number}"
