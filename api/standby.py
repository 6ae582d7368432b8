"""A process that stands by: started soon after the worker, so that nobody who publishes or rolls back waits for its start."""

import asyncio
from contextlib import suppress

from api.background import WorkerLost, start_process
from gitstore.store import Store

_AFTER_SECONDS = 2.0
"""A start shall not be slower for it: what is asked of a service first is to serve."""


class Standby:
    """A companion of the service: has one process import what a publish needs, which takes half a second."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin, in a moment."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """End."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        await asyncio.sleep(_AFTER_SECONDS)
        with suppress(WorkerLost, OSError):  # whoever needs one starts one
            await start_process(self._store.namespaces)
