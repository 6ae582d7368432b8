"""The prewarmer of a worker: starts a process in advance, and prepares the data that a rollback may need."""

import asyncio
import time
from contextlib import suppress

from api import logs
from api.data.served_data import ServedData
from api.runtime.jobs.background import JobTimeout, ProcessLost, run_unqueued
from api.runtime.jobs.background_task import TaskService
from gitstore.errors import StoreError
from gitstore.store.store import Store

_AFTER_SECONDS = 2.0  # so that it does not slow down the start of the service
_AGAIN_SECONDS = 3600.0
# The longest wait of a publish or rollback behind a step; a step of one state with many rules can take longer.
_STEP_SECONDS = 0.1
_REST = 4  # times the duration of each step, so that it uses no more than a fifth of a core

_log = logs.logger("prewarmer")


class Prewarmer(TaskService):
    """A background service that prepares a process and data, so that publishes and rollbacks wait for neither.

    While `data` is lost, nothing is prepared.
    """

    def __init__(self, store: Store, data: ServedData | None = None) -> None:
        super().__init__()
        self._store = store
        self._data = data

    async def _run(self) -> None:
        await asyncio.sleep(_AFTER_SECONDS)
        while True:
            if self._is_lost():
                await asyncio.sleep(_AFTER_SECONDS)
                continue
            try:
                for namespace in await run_unqueued(self._store.namespaces.names):
                    await self._prepare(namespace)
            except (JobTimeout, ProcessLost, OSError) as ex:  # the next job starts a process itself
                _log.warning("prewarmer_failed", error=str(ex))
            await asyncio.sleep(_AGAIN_SECONDS)

    def _is_lost(self) -> bool:
        return self._data is not None and self._data.check() is not None

    async def _prepare(self, namespace: str) -> None:
        """Prepare all of a namespace; requests report the files that cannot be read or written."""
        with suppress(StoreError):
            is_done = False
            while not is_done and not self._is_lost():  # nothing is written in the place of lost data
                begun = time.monotonic()
                is_done = await run_unqueued(self._store.releases.warm_up, namespace, _STEP_SECONDS)
                await asyncio.sleep(_REST * (time.monotonic() - begun))
