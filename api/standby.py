"""What a worker's processes do while nobody asks: one is started ahead of need, and prepares what going back may need."""

import asyncio
import time
from contextlib import suppress

from api import logs
from api.background import WorkerLost, aside
from api.routine import Routine
from gitstore.errors import StoreError
from gitstore.store import Store

_AFTER_SECONDS = 2.0
"""A start shall not be slower for it: what is asked of a service first is to serve."""
_AGAIN_SECONDS = 3600.0
_STEP_SECONDS = 0.1
"""How long a publish or a rollback may have to wait behind it; one state of many rules can take longer."""
_REST = 4
"""Times as long as each step took: no more than a fifth of a core is used."""

_log = logs.logger("standby")


class Standby:
    """A companion of the service: who publishes or rolls back waits for no process to start, and for as little else as can be."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._routine = Routine(self._run)

    async def start(self) -> None:
        """Begin, in a moment."""
        self._routine.begin()

    async def stop(self) -> None:
        """End."""
        await self._routine.end()

    async def _run(self) -> None:
        await asyncio.sleep(_AFTER_SECONDS)
        while True:
            try:
                for namespace in await aside(self._store.namespaces):
                    await self._prepare(namespace)
            except (WorkerLost, OSError) as ex:  # whoever needs a process starts one
                _log.warning("standby_failed", error=str(ex))
            await asyncio.sleep(_AGAIN_SECONDS)

    async def _prepare(self, namespace: str) -> None:
        """Prepare all of a namespace; what cannot be read or written there is told to those who ask for it."""
        with suppress(StoreError):
            is_done = False
            while not is_done:
                begun = time.monotonic()
                is_done = await aside(self._store.prepare, namespace, _STEP_SECONDS)
                await asyncio.sleep(_REST * (time.monotonic() - begun))
