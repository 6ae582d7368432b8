"""The relay from publishes to events: compares the history of release with the cursor of each project.

The commits of release that change policies or signers are relayed to the audit trail, with a cursor of the namespace: they need
change no project.

Events come from Git and not from requests: a publish by plain git gets one like any other, and if a process is killed
right after the ref moved, the next relay records the event. All calls block; several workers may run them at once.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from api.db import audit
from api.db.audit import ACCOUNT, COMMIT_KIND, OPERATOR_KIND, Actor, AuditEntry, AuditEvent
from api.db.audit_accounts import find_account_name
from api.db.database import Connection, Database
from api.db.events import event_cursors, events
from api.db.events.event_cursors import NAMESPACE, RELEASE, EventCursor
from api.db.events.events import Event, EventType
from api.db.timestamps import Clock, dump_time
from api.http.response import json_views
from gitstore.compiled.indexes.manifest import Manifest, ProjectEntry
from gitstore.compiled.indexes.versions import Version
from gitstore.history.history import PublishRecord
from gitstore.namespaces.records import NamespaceRecords
from gitstore.publish.release_changes import ReleaseChange, ReleaseChanges
from gitstore.signatures.allowed_signers import FILE
from gitstore.store.store import Store

BATCH_SIZE = 100  # publishes, or changes of release, per transaction
_FAR = 100  # commits of release without changes until its cursor is moved
_NO_PUBLISH = EventCursor(0, "")
_CHANGES = (AuditEvent.POLICY_CHANGED, AuditEvent.SIGNERS_CHANGED)
_MOST_SIGNERS = 100  # that were added or removed, in an entry
_OPERATOR = Actor(OPERATOR_KIND, None, OPERATOR_KIND)


@dataclass(frozen=True, slots=True)
class PublishEventRelay:
    """The relay of all namespaces; `reader` is the same database with a shorter lock timeout.

    `records` removes the records of deleted namespaces.
    """

    store: Store
    database: Database
    reader: Database
    clock: Clock
    records: NamespaceRecords
    # By namespace: the entries of projects whose cursors were seen to have reached them. Only other ones are looked up.
    _reached: dict[str, dict[str, ProjectEntry]] = field(default_factory=dict)
    # By namespace: how far there was no change after the cursor of release. So a publish costs no transaction more, and a
    # new process looks at few commits again.
    _unchanged: dict[str, "_Unchanged"] = field(default_factory=dict)

    def begin(self, manifests: Mapping[str, Manifest]) -> None:
        """Set the cursors to the newest publishes at the very first start; later do nothing."""
        with self.reader.reading() as connection:
            if event_cursors.relay_started_at(connection) is not None:
                return
        with self.database.writing() as connection:
            events.lock_order(connection)
            if event_cursors.relay_started_at(connection) is not None:
                return
            event_cursors.begin(connection, self.clock())
            for namespace, manifest in manifests.items():
                self._mark_relayed(connection, namespace, manifest.commit, manifest.projects)

    def relay(self, namespace: str) -> str:
        """Record an event for each publish without one; return the commit up to which it has.

        The cursors are read before the history, so the history is never behind them, unless it was restored. A project that
        only changes meanwhile is left to the next relay.
        """
        reached = self._reached.setdefault(namespace, {})
        before = self.store.releases.manifest(namespace)
        due = [name for name, entry in before.projects.items() if reached.get(name) is not entry]
        with self.reader.reading() as connection:
            begun = event_cursors.relay_started_at(connection)
            known = event_cursors.list_cursors(connection, namespace, [NAMESPACE, RELEASE, *due])
        if begun is None:
            return ""
        manifest = self.store.releases.manifest(namespace)
        if NAMESPACE not in known:
            known, due = self._create_cursors(namespace, manifest, begun), list(manifest.projects)
            reached.clear()
        for project in due:
            self._relay_project(_Relayed(namespace, known[NAMESPACE], project), known, manifest, reached)
        self._relay_release(_Relayed(namespace, known[NAMESPACE], RELEASE), known.get(RELEASE), manifest)
        return before.commit

    def _relay_project(
        self,
        of: "_Relayed",
        known: Mapping[str, EventCursor],
        manifest: Manifest,
        reached: dict[str, ProjectEntry],
    ) -> None:
        entry = manifest.projects.get(of.project)
        relayed = known.get(of.project, _NO_PUBLISH)
        if entry and entry.newest and relayed.commit != entry.newest_commit:
            self._catch_up(of, relayed, entry)
        elif entry:
            reached[of.project] = entry

    def _relay_release(self, of: "_Relayed", relayed: EventCursor | None, manifest: Manifest) -> None:
        """Record the changes of policies and signers since the cursor; what is older than the cursor itself is no news."""
        if relayed is None:
            self._move_release(of, None, ReleaseChanges([], manifest.commit))
            return
        known = self._unchanged.get(of.namespace)
        if known is None or known.cursor != relayed:  # otherwise another process moved it
            known = _Unchanged(relayed, relayed.commit, 0)
        while known.until != manifest.commit:
            changes = self.store.publishes.release_changes(of.namespace, known.until, BATCH_SIZE)
            is_apart = known.is_apart or changes.is_apart
            found = self._without_recorded(of.namespace, changes.found) if is_apart else changes.found
            changes = changes._replace(found=found)
            known = _Unchanged(known.cursor, changes.until, known.passed + changes.passed, is_apart)
            if found or (known.passed >= _FAR and not is_apart):
                if not self._move_release(of, known.cursor, changes):
                    return
                known = _Unchanged(EventCursor(0, changes.until), changes.until, 0)
            elif not changes.passed:
                return
        self._unchanged[of.namespace] = known

    def _move_release(self, of: "_Relayed", relayed: EventCursor | None, changes: ReleaseChanges) -> bool:
        """Move the cursor of release and record the changes between, in one transaction; False as with `_record`."""
        now, after = self.clock(), EventCursor(0, changes.until)
        with self.database.writing() as connection:
            events.lock_order(connection)
            known = event_cursors.list_cursors(connection, of.namespace, [NAMESPACE, RELEASE])
            if known.get(NAMESPACE) != of.mark or known.get(RELEASE) != relayed:
                return False
            if relayed is None:
                event_cursors.add_cursor(connection, of.namespace, RELEASE, after, now)
            else:
                event_cursors.move_cursor(connection, of.namespace, RELEASE, relayed, after, now)
            for change in changes.found:
                account = find_account_name(connection, change.fields.published_by)
                for entry in _change_entries(now, of.namespace, change, account):
                    audit.record(connection, entry)
        return True

    def _without_recorded(self, namespace: str, found: Sequence[ReleaseChange]) -> Sequence[ReleaseChange]:
        """Leave out the changes that another node has recorded; to record one moves the cursor."""
        if not found:
            return found
        with self.reader.reading() as connection:
            recorded = audit.list_versions(connection, namespace, _CHANGES, [each.commit for each in found])
        return [each for each in found if each.commit not in recorded]

    def forget_deleted(self, present: Iterable[str]) -> None:
        """Put away the records of namespaces that were archived by a process that died before it did so."""
        there = set(present)
        with self.reader.reading() as connection:
            relayed = event_cursors.list_cursor_namespaces(connection)
        for namespace in set(self._reached) - there:
            self._reached.pop(namespace, None)
            self._unchanged.pop(namespace, None)
        for namespace in relayed - there:
            self.store.namespaces.put_away_records(namespace, self.records)

    def _create_cursors(self, namespace: str, manifest: Manifest, begun: datetime) -> dict[str, EventCursor]:
        """Create the cursors of a namespace that is seen for the first time.

        Its publishes since the start of the relay get events. Older ones came with it, for example from a backup.
        """
        older = {
            name: entry
            for name, entry in manifest.projects.items()
            if entry.newest and not self._began_after(namespace, name, begun)
        }
        with self.database.writing() as connection:
            events.lock_order(connection)
            known = event_cursors.list_cursors(connection, namespace)
            if "" not in known:
                self._mark_relayed(connection, namespace, manifest.commit if older else "", older)
            return event_cursors.list_cursors(connection, namespace)

    def _began_after(self, namespace: str, project: str, begun: datetime) -> bool:
        first = self.store.publishes.after(namespace, project, 0, 1)
        return bool(first) and datetime.fromtimestamp(first[0][0].time, UTC) >= begun.replace(microsecond=0)

    def _mark_relayed(
        self, connection: Connection, namespace: str, release: str, projects: Mapping[str, ProjectEntry]
    ) -> None:
        newest = {name: EventCursor(entry.newest, entry.newest_commit) for name, entry in projects.items()}
        event_cursors.mark_relayed(connection, namespace, release, newest, self.clock())

    def _catch_up(self, of: "_Relayed", relayed: EventCursor, entry: ProjectEntry) -> None:
        # otherwise a repository was restored to an earlier state
        if not self._is_in_history(of.namespace, of.project, relayed, entry):
            self._record(of, relayed, EventCursor(entry.newest, entry.newest_commit), [])
            return
        while relayed.number < entry.newest:
            found = self.store.publishes.after(of.namespace, of.project, relayed.number, BATCH_SIZE)
            after = EventCursor(found[-1][0].number, found[-1][0].version) if found else relayed
            if not found or not self._record(of, relayed, after, found):
                return
            relayed = after

    def _is_in_history(self, namespace: str, project: str, relayed: EventCursor, entry: ProjectEntry) -> bool:
        if relayed.number == 0:
            return True
        if relayed.number > entry.newest:
            return False
        found, _ = self.store.publishes.after(namespace, project, relayed.number - 1, 1)[0]
        # A number that the history skips was reached before a rewind was accepted: later numbers are new publishes.
        return found.number > relayed.number or found.version == relayed.commit

    def _record(
        self, of: "_Relayed", relayed: EventCursor, after: EventCursor, found: list[tuple[PublishRecord, Version]]
    ) -> bool:
        """Move the cursor and record the events between, in one transaction.

        False if another worker was first, or if the namespace is another one of the same name by now.
        """
        now, (namespace, mark, project) = self.clock(), of
        with self.database.writing() as connection:
            events.lock_order(connection)
            known = event_cursors.list_cursors(connection, namespace)
            if known.get(NAMESPACE) != mark or known.get(project, _NO_PUBLISH) != relayed:
                return False
            if relayed == _NO_PUBLISH:
                event_cursors.add_cursor(connection, namespace, project, after, now)
            else:
                event_cursors.move_cursor(connection, namespace, project, relayed, after, now)
            for publish, version in found:
                if not events.has_publish(connection, namespace, project, publish.version):
                    events.record_event(connection, _event(now, namespace, project, publish, version))
                    account = find_account_name(connection, publish.published_by)
                    audit.record(connection, _audit_entry(now, namespace, project, publish, account))
        return True


class _Unchanged(NamedTuple):
    """The cursor of release, and the commit up to which no commit after it has a change, with their number.

    `is_apart` where this node does not have the commit of the cursor: another node, which is ahead of it, moved the cursor.
    """

    cursor: EventCursor
    until: str
    passed: int
    is_apart: bool = False


class _Relayed(NamedTuple):
    """A project whose publishes become events, and the cursor that marks its namespace."""

    namespace: str
    mark: EventCursor
    project: str


def _audit_entry(
    now: datetime, namespace: str, project: str, publish: PublishRecord, account: str | None
) -> AuditEntry:
    """Return the entry of a publish, by the person that its commit names, with the name of the account behind the address.

    A push can name anyone, and any time, so the time of the entry is the present: it decides how long the entry is kept.
    """
    event = AuditEvent.ROLLED_BACK if publish.rolled_back_to else AuditEvent.PUBLISHED
    detail = {"version": publish.version, "publishNumber": publish.number, "author": publish.author}
    optional = {
        ACCOUNT: account,
        "approvedBy": publish.approved_by,
        "signedBy": publish.signed_by,
        "rolledBackTo": publish.rolled_back_to,
    }
    detail |= {name: text for name, text in optional.items() if text}
    detail["committedAt"] = dump_time(datetime.fromtimestamp(publish.time, UTC))
    actor = Actor(COMMIT_KIND, None, publish.published_by)
    return AuditEntry(now, event, actor, project, detail, namespace, project)


def _change_entries(now: datetime, namespace: str, change: ReleaseChange, account: str | None) -> Iterator[AuditEntry]:
    """Yield an entry for each policy that a commit changes, and one for the signers, by the person that the commit names.

    Who moved release to another history is not known: someone with access to the repository.
    """
    fields = change.fields
    actor = _OPERATOR if change.rewound_from else Actor(COMMIT_KIND, None, fields.published_by)
    named = {"author": fields.author, ACCOUNT: account, "approvedBy": fields.approved_by, "signedBy": fields.signed_by}
    named = {"rewoundFrom": change.rewound_from} if change.rewound_from else named
    common: dict[str, object] = {"version": change.commit, **{name: text for name, text in named.items() if text}}
    common["committedAt"] = dump_time(datetime.fromtimestamp(change.time, UTC))
    for policy in change.policies:
        detail = {**common, "before": policy.before, "after": policy.after}
        detail |= {"unreadable": list(policy.unreadable)} if policy.unreadable else {}
        yield AuditEntry(now, AuditEvent.POLICY_CHANGED, actor, policy.project, detail, namespace, policy.project)
    if change.signers:
        lines = {name: list(found[:_MOST_SIGNERS]) for name, found in change.signers._asdict().items()}
        yield AuditEntry(now, AuditEvent.SIGNERS_CHANGED, actor, FILE, {**common, **lines}, namespace)


def _event(now: datetime, namespace: str, project: str, publish: PublishRecord, version: Version) -> Event:
    kind = EventType.ROLLED_BACK if publish.rolled_back_to else EventType.PUBLISHED
    return Event(now, namespace, project, kind, json_views.publish_event(publish, version), publish.version)
