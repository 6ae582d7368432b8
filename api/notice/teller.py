"""Publishes become events: what the history of release says, compared with how far each project was told.

Derived from Git and not from requests: a publish by plain git is told like any other, and one whose process was killed
right after the ref had moved is told by whoever looks next. All of it blocks; several workers may do it at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from api import wire
from api.state import events, tellings, webhooks
from api.state.database import Connection, Database
from api.state.events import Event, EventType
from api.state.moment import Clock
from api.state.tellings import Telling
from gitstore.history import Publish
from gitstore.manifest import Manifest, ProjectEntry
from gitstore.store import Store
from gitstore.versions import Version

AT_ONCE = 100
"""Publishes that are told in one transaction."""
_LONGEST_MESSAGE = 1000
_NOTHING = Telling(0, "")


@dataclass(frozen=True, slots=True)
class Teller:
    """Tells of the publishes of all namespaces; `reader` is the same database, with less patience."""

    store: Store
    database: Database
    reader: Database
    clock: Clock

    def begin(self, manifests: Mapping[str, Manifest]) -> None:
        """At the very first start, take everything that is there as told; later do nothing."""
        with self.reader.reading() as connection:
            if tellings.begun_at(connection) is not None:
                return
        with self.database.writing() as connection:
            events.lock_order(connection)
            if tellings.begun_at(connection) is not None:
                return
            tellings.begin(connection, self.clock())
            for namespace, manifest in manifests.items():
                self._take_as_told(connection, namespace, manifest.projects)

    def tell(self, namespace: str) -> None:
        """Record an event for each publish that nobody was told of.

        The cursors are read before the history, which is then never behind them, unless it was put back.
        """
        with self.reader.reading() as connection:
            begun = tellings.begun_at(connection)
            known = tellings.list_tellings(connection, namespace)
        if begun is None:
            return
        manifest = self.store.manifest(namespace)
        if "" not in known:
            known = self._meet(namespace, manifest, begun)
        for project, entry in manifest.projects.items():
            told = known.get(project, _NOTHING)
            if entry.newest and told.commit != entry.newest_commit:
                self._catch_up(namespace, project, told, entry)

    def forget_gone(self, present: Iterable[str]) -> None:
        """Forget all about namespaces that were deleted: the next one of such a name may belong to others."""
        with self.reader.reading() as connection:
            told = tellings.told_namespaces(connection)
        for namespace in told - set(present):
            if self.store.was_deleted(namespace):
                self.forget(namespace)

    def forget(self, namespace: str) -> None:
        """Forget a namespace: how far it was told, its events, its webhooks."""
        with self.database.writing() as connection:
            tellings.remove_tellings(connection, namespace)
            events.remove_events_of(connection, namespace)
            webhooks.remove_webhooks_of(connection, namespace)

    def _meet(self, namespace: str, manifest: Manifest, begun: datetime) -> dict[str, Telling]:
        """The cursors of a namespace that is seen for the first time.

        What it published since the service began to tell is told. What is older came with it, from a backup, say.
        """
        older = {
            name: entry
            for name, entry in manifest.projects.items()
            if entry.newest and not self._began_after(namespace, name, begun)
        }
        with self.database.writing() as connection:
            events.lock_order(connection)
            known = tellings.list_tellings(connection, namespace)
            if "" not in known:
                self._take_as_told(connection, namespace, older)
            return tellings.list_tellings(connection, namespace)

    def _began_after(self, namespace: str, project: str, begun: datetime) -> bool:
        first = self.store.publishes_after(namespace, project, 0, 1)
        return bool(first) and datetime.fromtimestamp(first[0][0].time, UTC) >= begun.replace(microsecond=0)

    def _take_as_told(self, connection: Connection, namespace: str, projects: Mapping[str, ProjectEntry]) -> None:
        now = self.clock()
        tellings.add_telling(connection, namespace, "", _NOTHING, now)
        for name, entry in projects.items():
            telling = Telling(entry.newest, entry.newest_commit)
            tellings.add_telling(connection, namespace, name, telling, now)

    def _catch_up(self, namespace: str, project: str, told: Telling, entry: ProjectEntry) -> None:
        if not self._is_in_history(namespace, project, told, entry):  # a repository was put back to an earlier state
            self._record(namespace, project, told, Telling(entry.newest, entry.newest_commit), [])
            return
        while told.number < entry.newest:
            found = self.store.publishes_after(namespace, project, told.number, AT_ONCE)
            after = Telling(found[-1][0].number, found[-1][0].version) if found else told
            if not found or not self._record(namespace, project, told, after, found):
                return
            told = after

    def _is_in_history(self, namespace: str, project: str, told: Telling, entry: ProjectEntry) -> bool:
        if told.number == 0:
            return True
        if told.number > entry.newest:
            return False
        return self.store.publishes_after(namespace, project, told.number - 1, 1)[0][0].version == told.commit

    def _record(
        self, namespace: str, project: str, told: Telling, after: Telling, found: list[tuple[Publish, Version]]
    ) -> bool:
        """Move the cursor and record what lies between, in one; False where another worker was first."""
        now = self.clock()
        with self.database.writing() as connection:
            events.lock_order(connection)
            if tellings.list_tellings(connection, namespace).get(project, _NOTHING) != told:
                return False
            if told == _NOTHING:
                tellings.add_telling(connection, namespace, project, after, now)
            else:
                tellings.move_telling(connection, namespace, project, told, after, now)
            for publish, version in found:
                if not events.has_publish(connection, namespace, project, publish.version):
                    events.record_event(connection, _event(now, namespace, project, publish, version))
        return True


def _event(now: datetime, namespace: str, project: str, publish: Publish, version: Version) -> Event:
    kind = EventType.ROLLED_BACK if publish.rolled_back_to else EventType.PUBLISHED
    return Event(now, namespace, project, kind, _body(publish, version), publish.version)


def _body(publish: Publish, version: Version) -> dict[str, Any]:
    return {
        "version": publish.version,
        "publishNumber": publish.number,
        "publishedAt": wire.moment(publish.time),
        "author": publish.author,
        "publishedBy": publish.published_by,
        "approvedBy": publish.approved_by or None,
        "message": publish.message[:_LONGEST_MESSAGE],
        "served": publish.served,
        "removed": version.tree is None,
        "changes": wire.counts(publish.counts) if version.counts is not None else None,
        "fileCounts": publish.files.wire() if publish.files else None,
        **({"rolledBackTo": publish.rolled_back_to} if publish.rolled_back_to else {}),
    }
