"""The watcher of release branches: loads a moved release, so that the first request after a publish need not.

It only saves time: every request checks the ref itself, and a missed event costs that request a few milliseconds.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from watchfiles import Change, awatch

from api import logs
from api.data.served_data import ServedData
from api.runtime.jobs.background_task import TaskService
from api.runtime.serving.release_loader import ReleaseLoader
from api.runtime.serving.watched_namespaces import WatchedNamespaces
from gitstore.errors import StoreError
from gitstore.store.store import Store

_STEP_MILLISECONDS = 100
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
            try:
                await self._watch()
            except (OSError, RuntimeError) as ex:
                # For example, the user has too many inotify instances. Requests check the refs themselves, so only time
                # is lost: https://man7.org/linux/man-pages/man7/inotify.7.html
                _log.warning("watcher_failed", error=str(ex))
                self._again.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(_RETRY_SECONDS):
                        await self._again.wait()

    async def _watch(self) -> None:
        """Load and watch all namespaces, and those that come later; end if the watched folders may be others."""
        self._again.clear()
        root = self._store.directory.repositories
        namespaces = WatchedNamespaces(root, self._warm, self._again)
        additions = asyncio.create_task(self._watch_additions(root, namespaces))
        await asyncio.sleep(0)  # it registers the folder of all namespaces, before they are listed
        try:
            await namespaces.follow(self._find)
            await additions
        finally:
            additions.cancel()
            await asyncio.gather(additions, return_exceptions=True)
            await namespaces.stop()

    async def _watch_additions(self, root: Path, namespaces: WatchedNamespaces) -> None:
        """Follow the namespaces that are added or removed."""
        events = awatch(root, recursive=False, step=_STEP_MILLISECONDS, watch_filter=_matters, stop_event=self._again)
        async for _ in events:
            await namespaces.follow(self._find)

    def _find(self) -> dict[str, int]:
        """Return the names of all namespaces, each with the inode of its repository; 0 without one."""
        root = self._store.directory.repositories
        return {name: _inode(root / f"{name}.git") for name in self._store.directory.namespaces()}

    async def _warm(self, names: Iterable[str]) -> None:
        for name in names:
            if self._data is not None and self._data.check():  # loading would write compiled files in its place
                return
            with suppress(StoreError, OSError):  # requests get the error, and /health/ready reports it
                await self._releases.namespace(name)


def _matters(_change: Change, path: str) -> bool:
    return path.endswith(".git")


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return 0
