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
from api.runtime.background_task import TaskService
from api.runtime.release_loader import ReleaseLoader
from gitstore.errors import StoreError
from gitstore.git.lock import PACKED_REFS
from gitstore.layout import RELEASE_REF
from gitstore.store.store import Store

_STEP_MILLISECONDS = 20
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
                with suppress(TimeoutError):
                    async with asyncio.timeout(_RETRY_SECONDS):
                        await self._again.wait()

    async def _watch(self) -> None:
        """Load all namespaces, then watch until a repository is added or removed, which changes the watched folders."""
        self._again.clear()
        names = self._store.directory.namespaces()
        await self._warm(names)
        root = self._store.directory.repositories
        folders = [
            folder for name in names for folder in (root / f"{name}.git", (root / f"{name}.git" / RELEASE_REF).parent)
        ]
        existing = [folder for folder in folders if folder.is_dir()]
        async for changes in awatch(
            root,
            *existing,
            recursive=False,
            step=_STEP_MILLISECONDS,
            watch_filter=_matters,
            stop_event=self._again,
        ):
            moved = {_namespace(root, Path(path)) for _, path in changes}
            if not moved <= set(names) or any(Path(path).parent == root for _, path in changes):
                return
            await self._warm(moved)

    async def _warm(self, names: Iterable[str]) -> None:
        for name in names:
            if self._data is not None and self._data.check():  # loading would write compiled files in its place
                return
            with suppress(StoreError, OSError):  # requests get the error, and /health/ready reports it
                await self._releases.namespace(name)


def _matters(_change: Change, path: str) -> bool:
    return path.endswith((RELEASE_REF, f"/{PACKED_REFS}", ".git"))


def _namespace(root: Path, path: Path) -> str:
    return path.relative_to(root).parts[0].removesuffix(".git")
