"""The sweeper of pushes by path and SSH: makes entries of the audit trail from what their hooks noted."""

import pwd
from collections.abc import Hashable, Mapping
from datetime import UTC, datetime
from ipaddress import ip_address

from api.data.served_data import ServedData
from api.db.audit import OPERATOR_KIND, Actor, AuditEntry, AuditEvent, has_entry, record
from api.db.database import Database
from api.db.events import events
from api.db.timestamps import Clock, dump_time, utc_now
from api.reviews.push_entry import describe_note
from api.runtime.upkeep.namespace_sweeper import NamespaceSweeper
from gitstore.pushes.push_notes import load_push, push_notes
from gitstore.store.store import Store

_ROUND_SECONDS = 5.0


class PlainPushSweeper(NamespaceSweeper):
    """Records each noted push once, by the user of the system who owns the note, and removes the note."""

    subject = "noted_pushes"

    def __init__(
        self,
        store: Store,
        database: Database,
        data: ServedData,
        clock: Clock = utc_now,
        seconds: float = _ROUND_SECONDS,
    ) -> None:
        super().__init__(data, seconds)
        self._store = store
        self._database = database
        self._clock = clock

    def _list(self) -> Mapping[str, Hashable]:
        return dict.fromkeys(self._store.directory.namespaces())

    def _read_state(self, namespace: str) -> Hashable:
        return frozenset(push_notes(self._store.directory.namespace(namespace).repository).list().items())

    def _sweep(self, namespace: str) -> None:
        notes = push_notes(self._store.directory.namespace(namespace).repository)
        for name in notes.list():
            with notes.open(name) as note:
                found = load_push(note) if note else None
                if note and found:
                    at = datetime.fromtimestamp(note.time_ns / 1e9, UTC)
                    detail = {**describe_note(found), "pushedAt": dump_time(at)}
                    actor, event = Actor(OPERATOR_KIND, None, _user_name(note.user)), AuditEvent.PUSH_REQUESTED
                    address = _address(found.address)
                    self._record(
                        AuditEntry(
                            self._clock(), event, actor, namespace, detail, namespace, address=address, request=name
                        )
                    )
            notes.remove([name])

    def _record(self, entry: AuditEntry) -> None:
        """Record a push unless it is: another worker looks at the same notes, and a note may be one that cannot be removed."""
        with self._database.writing() as connection:
            events.lock_order(connection)
            if not has_entry(connection, entry.event, str(entry.request)):
                record(connection, entry)


def _user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user-{number}"


def _address(text: str) -> str | None:
    try:
        return str(ip_address(text))
    except ValueError:
        return None
