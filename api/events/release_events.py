"""Events of content that is not served as it is on disk: `release.invalid`, once for each fault.

They come from the served state of a worker, which is compared with the faults that were reported before.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from api.db.database import Database
from api.db.events import content_faults
from api.db.events.events import Event, EventType
from api.db.timestamps import Clock
from api.runtime.health.content_faults import to_fault
from gitstore.compiled.indexes.manifest import UNREADABLE
from gitstore.errors import NotFound, StoreError
from gitstore.history.live import REWOUND, ContentFault
from gitstore.store.store import Store

EVERY_PROJECT = "*"  # the project of an event about a whole namespace
_MAX_FINGERPRINT = 200
_MAX_DETAIL = 1000


@dataclass(frozen=True, slots=True)
class ReleaseEvents:
    """The recorder of these events; `reader` is the same database with a shorter lock timeout. All calls block."""

    store: Store
    database: Database
    reader: Database
    clock: Clock

    def record(self, namespaces: Iterable[str]) -> None:
        """Record the faults of some namespaces that have no event, and forget those that ended."""
        with self.reader.reading() as connection:
            reported = content_faults.list_reported(connection)
        for namespace in namespaces:
            known = {project: print_ for (name, project), print_ in reported.items() if name == namespace}
            found = self._find(namespace)
            if found is not None and _prints(found) != known:
                self._update(namespace, known)

    def _update(self, namespace: str, known: Mapping[str, str]) -> None:
        """Look again at the state on disk, which all workers share: the one in memory may be some seconds old."""
        found = self._find(namespace, again=True) or []
        prints = _prints(found)
        with self.database.writing() as connection:
            for project in known.keys() - prints.keys():
                content_faults.end(connection, namespace, project)
            for fault in found:
                project = fault.project or EVERY_PROJECT
                if known.get(project) != prints[project]:
                    content_faults.report(connection, self._event(namespace, fault), prints[project])

    def _find(self, namespace: str, *, again: bool = False) -> Sequence[ContentFault] | None:
        """Return the faults; None if the namespace does not exist, or was never compiled."""
        try:
            if again:
                return self.store.releases.refresh(namespace).faults
            return self.store.releases.namespace(namespace).faults
        except NotFound:
            return None
        except (StoreError, OSError) as ex:
            return [ContentFault(UNREADABLE, str(ex))]

    def _event(self, namespace: str, found: ContentFault) -> Event:
        fault = to_fault(namespace, found)
        served = {"version": fault.served.version, "publishNumber": fault.served.number} if fault.served else None
        body = {
            "code": fault.code,
            "message": fault.message,
            "action": fault.action,
            "detail": fault.detail[:_MAX_DETAIL],
            "publishNumber": found.newest or None,
            "served": served,
        }
        return Event(self.clock(), namespace, found.project or EVERY_PROJECT, EventType.RELEASE_INVALID, body)


def _prints(found: Sequence[ContentFault]) -> dict[str, str]:
    """Return what distinguishes each fault from an earlier one of its project."""
    return {
        fault.project or EVERY_PROJECT: f"{fault.code} {fault.reason if fault.code == REWOUND else fault.newest}"[
            :_MAX_FINGERPRINT
        ]
        for fault in found
    }
