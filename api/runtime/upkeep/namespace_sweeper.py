"""The base of sweepers: each looks at a namespace once its state has changed, and removes what is no longer needed."""

import asyncio
from abc import abstractmethod
from collections.abc import Hashable, Mapping
from typing import ClassVar

from api import logs
from api.data.served_data import ServedData
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.background_task import TaskService
from gitstore.errors import StoreError

_log = logs.logger("sweeper")


class NamespaceSweeper(TaskService):
    """A background service that goes through the namespaces every `seconds`; while `data` is lost, it waits."""

    subject: ClassVar[str]
    """What is swept, in the names of its events in the log."""

    def __init__(self, data: ServedData, seconds: float) -> None:
        super().__init__()
        self._data = data
        self._seconds = seconds
        self._seen = dict[str, Hashable]()  # the state of each namespace at its last sweep

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            if self._data.fault is None:
                await run_in_thread(self.sweep)

    def sweep(self) -> None:
        """Look at each namespace; a failure is logged, and the next round tries again."""
        try:
            namespaces = self._list()
        except (StoreError, OSError) as ex:
            _log.warning(f"{self.subject}_not_read", error=str(ex))
            return
        for namespace, listed in namespaces.items():
            try:
                self._sweep_changed(namespace, listed)
            except (StoreError, OSError) as ex:
                _log.warning(f"{self.subject}_not_swept", namespace=namespace, error=str(ex))

    def _sweep_changed(self, namespace: str, listed: Hashable) -> None:
        state = (listed, self._read_state(namespace))
        if self._seen.get(namespace) != state:
            self._sweep(namespace)
            self._seen[namespace] = state

    @abstractmethod
    def _list(self) -> Mapping[str, Hashable]:
        """Return the namespaces, each with what their list tells of its state."""

    @abstractmethod
    def _read_state(self, namespace: str) -> Hashable:
        """Return the rest of a namespace's state; a sweep follows if any of it has changed."""

    @abstractmethod
    def _sweep(self, namespace: str) -> None:
        """Remove what a namespace no longer needs."""
