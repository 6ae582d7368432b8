"""The records of namespaces in the database, and what becomes of them when a namespace is archived or its name reused.

Agents, events and cursors are removed with the archived namespace. Its webhooks, remarks, pushers
and upstream are put away, and come back only with it. Grants that name it stay until another namespace of the name takes its place.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Table, select, update

from api import logs
from api.db import audit, earlier_namespaces
from api.db.accounts.roles import dump_grants, load_grants
from api.db.agents import agents
from api.db.audit import Actor, AuditEntry, AuditEvent
from api.db.database import Connection
from api.db.earlier_namespaces import EarlierNamespace
from api.db.events import content_faults, event_cursors, events, webhooks
from api.db.events.event_cursors import EventCursor
from api.db.events.events import Event, EventType
from api.db.namespaces import pushed_commits, reviews, upstreams
from api.db.state_store import StateStore
from api.db.tables import api_tokens, roles
from api.db.timestamps import Clock, dump_time, utc_now
from gitstore.compiled.indexes.manifest import Manifest
from gitstore.errors import StoreError
from gitstore.namespaces.archive import merge_numbers
from gitstore.namespaces.records import Archived, NamespaceRecords

_log = logs.logger("namespaces")


@dataclass(frozen=True, slots=True)
class StoredRecords(NamespaceRecords):
    """The records in the database, changed on behalf of an actor; None: by the service, after another process died.

    With `keep_grants`, a new namespace keeps the grants that named an earlier one of its name.
    """

    state: StateStore
    clock: Clock = utc_now
    actor: Actor | None = None
    keep_grants: bool = False

    def highest_numbers(self, name: str) -> Mapping[str, int]:
        """Return the highest publish number of each project, as noted or by the event cursors, ignoring case."""
        with self.state.database.reading() as connection:
            noted = earlier_namespaces.list_highest_numbers(connection, name)
            return merge_numbers(noted, event_cursors.list_numbers(connection, name))

    def note_numbers(self, name: str, numbers: Mapping[str, int]) -> None:
        """Note the numbers of a namespace that is about to be archived."""
        with self.state.database.writing() as connection:
            earlier_namespaces.note_highest_numbers(connection, name, numbers)

    def put_away(self, name: str, archive: str | None) -> None:
        """Put the records of an archived namespace away; a failure is logged, and the event scheduler tries again."""
        try:
            with self.state.database.writing() as connection:
                _put_away(connection, name, archive, self.clock())
                self._audit(connection, AuditEvent.NAMESPACE_ARCHIVED, name, {"archive": archive})
        except (StoreError, OSError) as ex:
            _log.warning("namespace_not_put_away", namespace=name, error=str(ex))

    def make_room(self, name: str, archive: str | None) -> None:
        """Put all records of earlier namespaces of a name away, and remove the grants that name them."""
        with self.state.changing() as connection:
            is_reused = archive is not None or earlier_namespaces.find_earlier(connection, name) is not None
            _put_away(connection, name, archive, self.clock())
            removed = _remove_grants(connection, name) if is_reused and not self.keep_grants else {}
            self._audit(connection, AuditEvent.NAMESPACE_CREATED, name, removed)

    def bring_back(self, archived: Archived, manifest: Manifest, *, is_last: bool) -> None:
        """Restore the webhooks, remarks and pushers of an archived namespace; its publishes get no second event.

        Grants are of the last namespace of a name: where another one is restored, they are removed.
        """
        now, name = self.clock(), archived.name
        with self.state.changing() as connection:
            earlier = earlier_namespaces.find_earlier(connection, name)
            last = earlier.archive if earlier and earlier.archive else archived.id if is_last else None
            _put_away(connection, name, last, now)
            removed = {} if last == archived.id else _remove_grants(connection, name)
            reviews.restore_remarks(connection, name, archived.id)
            pushed_commits.restore_pushed(connection, name, archived.id)
            webhooks.restore_webhooks(connection, name, archived.id)
            upstreams.restore_upstream(connection, name, archived.id)
            if event_cursors.relay_started_at(connection) is not None:
                newest = {project: (entry.newest, entry.newest_commit) for project, entry in manifest.projects.items()}
                cursors = {project: EventCursor(*each) for project, each in newest.items() if each[0]}
                event_cursors.mark_relayed(connection, name, manifest.commit, cursors, now)
            self._audit(connection, AuditEvent.NAMESPACE_RESTORED, name, {"archive": archived.id, **removed})
            events.record_event(connection, self._restored(archived, now))

    def _restored(self, archived: Archived, now: datetime) -> Event:
        by = self.actor.name if self.actor else ""
        body = {
            "archive": archived.id,
            "archivedAt": dump_time(datetime.fromtimestamp(archived.archived_at, UTC)),
            "by": by,
        }
        return Event(now, archived.name, "", EventType.NAMESPACE_RESTORED, body)

    def _audit(self, connection: Connection, event: AuditEvent, name: str, detail: Mapping[str, object]) -> None:
        if self.actor is not None:
            entry = AuditEntry(self.clock(), event, self.actor, name, detail, namespace=name)
            audit.record(connection, entry)


def _put_away(connection: Connection, name: str, archive: str | None, now: datetime) -> None:
    events.lock_order(connection)
    earlier_namespaces.note_highest_numbers(connection, name, event_cursors.list_numbers(connection, name))
    event_cursors.remove_cursors(connection, name)
    events.remove_events_of(connection, name)
    agents.remove_agents_of(connection, name)
    content_faults.end(connection, name)
    if archive is None:
        webhooks.remove_webhooks_of(connection, name)
        reviews.remove_remarks_of(connection, name)
        pushed_commits.remove_pushed_of(connection, name)
        upstreams.remove_upstream(connection, name)
    else:
        webhooks.archive_webhooks(connection, name, archive)
        reviews.archive_remarks(connection, name, archive)
        pushed_commits.archive_pushed(connection, name, archive)
        upstreams.archive_upstream(connection, name, archive)
    earlier = earlier_namespaces.find_earlier(connection, name)
    if archive is not None or earlier is not None:
        last = archive or (earlier.archive if earlier else None)
        earlier_namespaces.note_earlier(connection, name, EarlierNamespace(last, now))


def _remove_grants(connection: Connection, name: str) -> dict[str, object]:
    """Remove the grants that name a namespace from all tokens and roles; return the ids and names of both."""
    found = {"tokens": _remove_from(connection, api_tokens, "id", name)}
    found["roles"] = _remove_from(connection, roles, "name", name)
    return {"grantsRemovedFrom": found} if any(found.values()) else {}


def _remove_from(connection: Connection, table: Table, key: str, name: str) -> list[object]:
    changed: list[object] = []
    for row in connection.execute(select(table.c[key].label("key"), table.c.grants)).all():
        grants = load_grants(row.grants)
        kept = [grant for grant in grants if grant[0] != name]
        if len(kept) < len(grants):
            connection.execute(update(table).where(table.c[key] == row.key).values(grants=dump_grants(kept)))
            changed.append(row.key)
    return changed
