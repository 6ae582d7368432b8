"""Looks out for moved release branches, so that the first request after a publish finds everything read.

A convenience only: every request looks at the ref itself, and a missed event costs that request a few milliseconds.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from watchfiles import Change, awatch

from api import logs
from api.routine import Routine
from api.served import Served
from gitstore.errors import StoreError
from gitstore.layout import RELEASE_REF
from gitstore.lock import PACKED_REFS
from gitstore.store import Store

_STEP_MILLISECONDS = 20
_RETRY_SECONDS = 5.0

_log = logs.logger("watcher")


class Watcher:
    """A companion of the service: reads what release names whenever it moves, also by a plain git."""

    def __init__(self, store: Store, served: Served) -> None:
        self._store = store
        self._served = served
        self._routine = Routine(self._run)

    async def start(self) -> None:
        """Begin to watch."""
        self._store.directory.repositories.mkdir(parents=True, exist_ok=True)
        self._routine.begin()

    async def stop(self) -> None:
        """End."""
        await self._routine.end()

    async def _run(self) -> None:
        while True:
            try:
                await self._watch()
            except (OSError, RuntimeError) as ex:
                # Out of inotify instances, say: requests look at the refs themselves, so only warmth is lost.
                _log.warning("watcher_failed", error=str(ex))
                await asyncio.sleep(_RETRY_SECONDS)

    async def _watch(self) -> None:
        """Warm everything, then watch until a repository comes or goes, which changes what there is to watch."""
        names = self._store.directory.namespaces()
        await self._warm(names)
        root = self._store.directory.repositories
        folders = [
            folder for name in names for folder in (root / f"{name}.git", (root / f"{name}.git" / RELEASE_REF).parent)
        ]
        existing = [folder for folder in folders if folder.is_dir()]
        async for changes in awatch(root, *existing, recursive=False, step=_STEP_MILLISECONDS, watch_filter=_matters):
            moved = {_namespace(root, Path(path)) for _, path in changes}
            if not moved <= set(names) or any(Path(path).parent == root for _, path in changes):
                return
            await self._warm(moved)

    async def _warm(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(StoreError, OSError):  # whoever asks is told; /health/ready says it too
                await self._served.namespace(name)


def _matters(_change: Change, path: str) -> bool:
    return path.endswith((RELEASE_REF, f"/{PACKED_REFS}", ".git"))


def _namespace(root: Path, path: Path) -> str:
    return path.relative_to(root).parts[0].removesuffix(".git")
