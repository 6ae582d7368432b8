"""What one worker does so that others are told: looks for publishes and silent agents, and forgets what is old."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta

from api import logs
from api.background import in_thread
from api.notice.teller import Teller
from api.routine import Routine
from api.served import Served
from api.state.deliveries import has_delivery_before, remove_deliveries_before
from api.state.events import has_event_before, remove_events_before
from api.state.fleet import Fleet
from gitstore.errors import StoreError
from gitstore.live import LiveNamespace

LOOK_INTERVAL = 5.0
"""Seconds after which all namespaces are looked at, whoever said something or not."""
_CLEAN_INTERVAL = 3600.0

_log = logs.logger("herald")


class Herald:
    """A companion of the service; what fails is tried again with the next round."""

    def __init__(self, teller: Teller, served: Served, fleet: Fleet, silent: int, lifetime: int) -> None:
        self._teller = teller
        self._served = served
        self._fleet = fleet
        self._silent = timedelta(seconds=silent)
        self._lifetime = timedelta(seconds=lifetime)
        self._told: dict[str, object] = {}
        self._moved: set[str] = set()
        self._wake = asyncio.Event()
        self._begun = False
        self._started_at = time.monotonic()
        self._cleaned_at = 0.0
        self._routine = Routine(self._run)
        served.listen(self._note)

    async def start(self) -> None:
        """Begin."""
        self._started_at = time.monotonic()
        self._routine.begin()

    async def stop(self) -> None:
        """End."""
        await self._routine.end()

    def _note(self, namespace: str, _before: LiveNamespace | None, _after: LiveNamespace) -> None:
        self._moved.add(namespace)
        self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._try(self._look_at_all)
            until = time.monotonic() + LOOK_INTERVAL
            while (left := until - time.monotonic()) > 0:
                await self._wait(left)
                await self._try(self._look_at_moved)

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return
        self._wake.clear()

    async def _try(self, work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except (StoreError, OSError) as ex:
            _log.warning("not_told", error=str(ex))
        except Exception:  # noqa: BLE001 - nobody would be told of anything any more, and nobody would notice
            _log.exception("not_told")

    async def _look_at_all(self) -> None:
        names = await in_thread(self._teller.store.namespaces)
        if not self._begun:
            await self._begin(names)
        await in_thread(self._teller.forget_gone, names)
        self._told = {name: told for name, told in self._told.items() if name in names}
        self._moved.update(names)
        await self._look_at_moved()
        if time.monotonic() - self._started_at >= self._silent.total_seconds():
            await in_thread(self._fleet.tell_silence, self._silent)
        await in_thread(self._clean)

    async def _begin(self, names: list[str]) -> None:
        found = [(name, await self._find(name)) for name in names]
        manifests = {name: live.manifest for name, live in found if live is not None}
        await in_thread(self._teller.begin, manifests)
        self._begun = True

    async def _look_at_moved(self) -> None:
        while self._moved and self._begun:
            name = self._moved.pop()
            live = await self._find(name)
            if live is not None and self._told.get(name) != live.manifest.commit:
                await in_thread(self._teller.tell, name)
                self._told[name] = live.manifest.commit

    async def _find(self, name: str) -> LiveNamespace | None:
        try:
            return await self._served.namespace(name)
        except (StoreError, OSError):  # whoever asks is told; /health/ready says it too
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
