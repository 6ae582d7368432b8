"""The monitor of the data directory: a look at it each second, for the requests that do not look themselves."""

import asyncio
from collections.abc import Callable

from api import logs
from api.data.served_data import ServedData
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.background_task import TaskService

INTERVAL = 1.0

_log = logs.logger("data")


class DataMonitor(TaskService):
    """A background service that logs the loss and the return of the data directory; `on_return` is called after it."""

    def __init__(self, served: ServedData, on_return: Callable[[], object]) -> None:
        super().__init__()
        self._served = served
        self._on_return = on_return
        self._known: str | None = None

    async def _run(self) -> None:
        while True:
            self._note(await run_in_thread(self._served.check))
            await asyncio.sleep(INTERVAL)

    def _note(self, fault: str | None) -> None:
        if fault == self._known:
            return
        before, self._known = self._known, fault
        if fault is not None:
            _log.error("data_lost", fault=fault, data=str(self._served.parts.root))
        elif before is not None:
            _log.warning("data_returned", data=str(self._served.parts.root))
            self._on_return()
