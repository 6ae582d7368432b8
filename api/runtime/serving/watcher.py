"""The watcher of release branches: loads a moved release, so that the first request after a publish need not.

It only saves time: every request checks the ref itself, and a missed event costs that request a few milliseconds.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from api import logs
from api.data.served_data import ServedData
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.background_task import TaskService
from api.runtime.serving.release_loader import ReleaseLoader
from api.runtime.serving.watched_namespaces import WatchedNamespaces, watch_namespaces
from gitstore.errors import StoreError
from gitstore.store.store import Store

_RETRY_SECONDS = 5.0

_log = logs.logger("watcher")


class Watcher(TaskService):
    """A background service that loads release whenever it moves, also by plain git."""

    def __init__(self, store: Store, releases: ReleaseLoader, data: ServedData | None = None) -> None:
        super().__init__()
        self._store = store
        self._releases = releases
        self._data = data
        self._again = asyncio.Event()

    def restart(self) -> None:
        """Watch the folders of these paths again: those watched until now may be others that were moved away."""
        self._again.set()

    async def _run(self) -> None:
        while True:
            self._again.clear()
            try:
                await self._watch()
            except Exception as ex:  # noqa: BLE001 - noted: without the watcher, each release is read at its first request
                # For example, the user has too many inotify instances. Requests check the refs themselves, so only time
                # is lost: https://man7.org/linux/man-pages/man7/inotify.7.html
                _log.warning("watcher_failed", error=str(ex) or type(ex).__name__)
                with suppress(TimeoutError):
                    async with asyncio.timeout(_RETRY_SECONDS):
                        await self._again.wait()

    async def _watch(self) -> None:
        """Load and watch all namespaces, and those that come later; end if the watched folders may be others."""
        with watch_namespaces(self._store.directory.repositories) as namespaces:
            works = (self._again.wait(), self._follow_list(namespaces), self._follow_moves(namespaces))
            tasks = [asyncio.create_task(work) for work in works]
            try:
                ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            for task in ended:
                task.result()

    async def _follow_list(self, namespaces: WatchedNamespaces) -> None:
        """Watch and load the namespaces that are added."""
        while True:
            await namespaces.listed.wait()
            namespaces.listed.clear()
            await self._warm(await run_in_thread(self._watch_new, namespaces))

    def _watch_new(self, namespaces: WatchedNamespaces) -> list[str]:
        return namespaces.follow(self._store.directory.namespaces())

    async def _follow_moves(self, namespaces: WatchedNamespaces) -> None:
        while True:
            await namespaces.moved.wait()
            await self._warm(namespaces.take_moved())

    async def _warm(self, names: Iterable[str]) -> None:
        for name in names:
            if self._data is not None and self._data.check():  # loading would write compiled files in its place
                return
            with suppress(StoreError, OSError):  # requests get the error, and /health/ready reports it
                await self._releases.namespace(name)
