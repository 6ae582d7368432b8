"""The event scheduler of one worker: detects publishes and silent agents, and removes old events."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta

from api import logs
from api.data.served_data import DataLost, ServedData
from api.db.agents.fleet import Fleet
from api.db.errors import StateBroken
from api.db.events.deliveries import has_delivery_before, remove_deliveries_before
from api.db.events.events import has_event_before, remove_events_before
from api.events.publish_event_relay import PublishEventRelay
from api.events.release_events import ReleaseEvents
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.background_task import TaskService
from api.runtime.serving.release_loader import ReleaseLoader
from gitstore.errors import Broken, StoreError
from gitstore.history.live import LiveNamespace

POLL_INTERVAL = 5.0  # seconds between two checks of all namespaces
_CLEAN_INTERVAL = 3600.0

_log = logs.logger("event_scheduler")


class EventScheduler(TaskService):
    """A background service that records events; failures are retried in the next round."""

    def __init__(
        self,
        event_relay: PublishEventRelay,
        release_events: ReleaseEvents,
        served: ReleaseLoader,
        fleet: Fleet,
        inactive_after: int,
        lifetime: int,
        data: ServedData | None = None,
    ) -> None:
        super().__init__()
        self._event_relay = event_relay
        self._release_events = release_events
        self._releases = served
        self._fleet = fleet
        self._inactive_after = timedelta(seconds=inactive_after)
        self._lifetime = timedelta(seconds=lifetime)
        self._relayed: dict[str, object] = {}
        self._moved: set[str] = set()
        self._changed: set[str] = set()
        self._wake = asyncio.Event()
        self._relay_started = False
        self._data = data
        # While it returns true, no agent counts as silent: agents report elsewhere, to the original of a restored copy.
        self.is_paused: Callable[[], bool] = lambda: False
        self._reachable_since = time.monotonic()
        self._cleaned_at = 0.0
        served.listen(self._note)
        if data is not None:
            data.listen(self._note_return)

    async def start(self) -> None:
        """Start the task."""
        self._note_return()
        await super().start()

    def _note(self, namespace: str, _before: LiveNamespace | None, _after: LiveNamespace) -> None:
        self._moved.add(namespace)
        self._wake.set()

    def _note_return(self) -> None:
        """Begin to wait for heartbeats: agents could send none before, so none of them is silent."""
        self._reachable_since = time.monotonic()

    async def _run(self) -> None:
        while True:
            if not await self._try(self._check_all):
                self._note_return()
            until = time.monotonic() + POLL_INTERVAL
            while (left := until - time.monotonic()) > 0:
                await self._wait(left)
                await self._try(self._check_moved)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()

    async def _try(self, work: Callable[[], Awaitable[object]]) -> bool:
        try:
            await work()
        except (StoreError, OSError, DataLost) as ex:
            _log.warning("events_not_recorded", error=str(ex))
        except Exception:  # noqa: BLE001 - otherwise the task ends, and no event is recorded any more
            _log.exception("events_not_recorded")
        else:
            return True
        return False

    async def _check_all(self) -> None:
        names = await run_in_thread(self._list_present)
        if names is None:
            self._note_return()
            return
        if not self._relay_started:
            await self._start_relay(names)
        self._relayed = {name: relayed for name, relayed in self._relayed.items() if name in names}
        self._moved.update(names)
        await self._check_moved()  # records the faults of all of them
        await run_in_thread(self._end_check)

    def _list_present(self) -> Sequence[str] | None:
        """List the namespaces, and put away what deleted ones left; None if the data is lost."""
        if self._data is not None:
            self._data.require()  # without it, namespaces would seem to be gone
        names = self._event_relay.store.namespaces.names()
        # Asked afterwards: an empty folder in place of the repositories is not a list without namespaces.
        if self._releases.find_loss():
            return None
        if self._relay_started:  # at once: a namespace that is created meanwhile is not in the list
            self._event_relay.forget_deleted(names)
        return names

    def _end_check(self) -> None:
        """Report silent agents, and remove old events."""
        if self.is_paused():
            self._note_return()
        elif time.monotonic() - self._reachable_since >= self._inactive_after.total_seconds():
            self._fleet.record_inactive_agents(self._inactive_after)
        self._clean()

    async def _start_relay(self, names: Sequence[str]) -> None:
        found = [(name, await self._find(name)) for name in names]
        manifests = {name: live.manifest for name, live in found if live is not None}
        await run_in_thread(self._event_relay.begin, manifests)
        self._relay_started = True

    async def _check_moved(self) -> None:
        if await run_in_thread(self._releases.find_loss):
            return
        while self._moved and self._relay_started:
            name = self._moved.pop()
            self._changed.add(name)
            live = await self._find(name)
            if live is not None and self._relayed.get(name) != live.manifest.commit:
                await run_in_thread(self._relay, name)
        changed, self._changed = self._changed, set()
        if changed:
            await run_in_thread(self._release_events.record, changed)

    def _relay(self, name: str) -> None:
        """Record the events of a namespace. A damaged one keeps its own events until it is repaired, and no other's."""
        try:
            self._relayed[name] = self._event_relay.relay(name)
        except StateBroken:
            raise
        except Broken as ex:
            _log.warning("events_not_recorded", namespace=name, error=str(ex))

    async def _find(self, name: str) -> LiveNamespace | None:
        try:
            return await self._releases.namespace(name)
        except (StoreError, OSError):  # requests get the error, and /health/ready reports it
            return None

    def _clean(self) -> None:
        now = time.monotonic()
        if self._cleaned_at and now - self._cleaned_at < _CLEAN_INTERVAL:
            return
        self._cleaned_at = now
        before, database = self._fleet.clock() - self._lifetime, self._fleet.database
        with database.reading() as connection:
            old = has_event_before(connection, before) or has_delivery_before(connection, before)
        if old:
            with database.writing() as connection:
                removed = remove_events_before(connection, before) + remove_deliveries_before(connection, before)
            _log.info("old_events_removed", rows=removed)
