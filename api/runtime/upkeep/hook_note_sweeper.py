"""The sweeper of what the hooks of pushes by path and SSH noted: pushes for the audit trail, and texts like API tokens."""

import pwd
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple, Protocol

from api.auth.push_entry import describe_note
from api.auth.tokens.leaked_tokens import LeakedTokens
from api.data.served_data import ServedData
from api.db.audit import OPERATOR_KIND, Actor, AuditEntry, AuditEvent, has_entry, record
from api.db.database import Database
from api.db.events import events
from api.db.timestamps import Clock, dump_time, utc_now
from api.runtime.upkeep.namespace_sweeper import NamespaceSweeper
from gitstore.pushes.found_tokens import found_tokens, read_found
from gitstore.pushes.hook_notes import NoteFolder
from gitstore.pushes.push_notes import load_push, push_notes
from gitstore.store.store import Store

_ROUND_SECONDS = 5.0


class NoteReader(Protocol):
    """A reader of the notes of one kind."""

    def open_folder(self, repository: Path) -> NoteFolder:
        """Return the folder of a repository with these notes."""
        ...

    def read(self, namespace: str, notes: NoteFolder, name: str) -> None:
        """Do what a note asks for. It may come again: another worker has it too, and one may be left that cannot be removed."""
        ...


class HookNoteSweeper(NamespaceSweeper):
    """Reads the notes of each namespace once there are new ones, and removes them."""

    subject = "hook_notes"

    def __init__(
        self, store: Store, readers: Sequence[NoteReader], data: ServedData, seconds: float = _ROUND_SECONDS
    ) -> None:
        super().__init__(data, seconds)
        self._store = store
        self._readers = readers

    def _list(self) -> Mapping[str, Hashable]:
        return dict.fromkeys(self._store.directory.namespaces())

    def _read_state(self, namespace: str) -> Hashable:
        return tuple(frozenset(notes.list().items()) for _, notes in self._folders(namespace))

    def _sweep(self, namespace: str) -> None:
        for reader, notes in self._folders(namespace):
            done = list[str]()
            try:
                for name in notes.list():
                    reader.read(namespace, notes, name)
                    done.append(name)
            finally:
                if done:
                    notes.remove(done)

    def _folders(self, namespace: str) -> list[tuple[NoteReader, NoteFolder]]:
        repository = self._store.directory.namespace(namespace).repository
        return [(reader, reader.open_folder(repository)) for reader in self._readers]


class FoundTokenReader(NamedTuple):
    """Revokes the valid API tokens among the texts that a hook found."""

    search: LeakedTokens

    def open_folder(self, repository: Path) -> NoteFolder:
        """Return the folder of the digests."""
        return found_tokens(repository)

    def read(self, namespace: str, notes: NoteFolder, name: str) -> None:
        """Revoke what is valid."""
        for digests in read_found(notes, name):
            self.search.revoke_hashes(digests, namespace)


class PushReader(NamedTuple):
    """Records each push once, by the user of the system who owns the note."""

    database: Database
    clock: Clock = utc_now

    def open_folder(self, repository: Path) -> NoteFolder:
        """Return the folder of the pushes."""
        return push_notes(repository)

    def read(self, namespace: str, notes: NoteFolder, name: str) -> None:
        """Record a push, unless it is recorded."""
        with notes.open(name) as note:
            found = load_push(note) if note else None
            if note is None or found is None:
                return
            at = datetime.fromtimestamp(note.time_ns / 1e9, UTC)
            detail = {**describe_note(found), "pushedAt": dump_time(at)}
            actor, event = Actor(OPERATOR_KIND, None, _user_name(note.user)), AuditEvent.PUSH_REQUESTED
            entry = AuditEntry(self.clock(), event, actor, namespace, detail, namespace, request=name)
            entry = replace(entry, address=_address(found.address))
            with self.database.writing() as connection:
                events.lock_order(connection)
                if not has_entry(connection, event, name):
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
