"""The release loader of a worker: a look-up on the hot path; everything else runs off the event loop."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from api import logs
from api.runtime.background import RELEASE_QUEUE, run_in_queue, run_in_thread
from gitstore.errors import StoreError
from gitstore.history.live import LiveNamespace, LiveProject
from gitstore.store.store import Store

_log = logs.logger("release_loader")


class ReleaseLoader:
    """The loader of served releases; when release moves, one request reads it again while the others wait."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._locks: dict[str, asyncio.Lock] = {}
        self._listeners: tuple[Callable[[str, LiveNamespace | None, LiveNamespace], None], ...] = ()

    def listen(self, listener: Callable[[str, LiveNamespace | None, LiveNamespace], None]) -> None:
        """Add a listener, called with the namespace, the state before and the state after each reload."""
        self._listeners = (*self._listeners, listener)

    async def project(self, namespace: str, project: str) -> LiveProject:
        """Return the served state of a project; raises NotFound or Broken."""
        found = self._store.live.peek(namespace) or await self._refreshed(namespace)
        return found.project(project)

    async def namespace(self, namespace: str) -> LiveNamespace:
        """Return the served state of a namespace; raises NotFound or Broken."""
        return self._store.live.peek(namespace) or await self._refreshed(namespace)

    async def _refreshed(self, namespace: str) -> LiveNamespace:
        lock = self._locks.setdefault(namespace, asyncio.Lock())
        try:
            async with lock:
                return self._store.live.peek(namespace) or await self._refresh(namespace)
        finally:
            if not lock.locked():
                self._locks.pop(namespace, None)

    async def _refresh(self, namespace: str) -> LiveNamespace:
        """Refresh a namespace, compiled first in a separate process if needed; `refresh` raises its failures again."""
        before = self._store.live.last(namespace)
        found = await run_in_thread(self._store.live.refresh_compiled, namespace)
        if found is None:
            with suppress(StoreError, OSError):
                await run_in_queue(f"{RELEASE_QUEUE}{namespace}", self._store.releases.compile, namespace)
            found = await run_in_thread(self._store.live.refresh, namespace)
        for failure in found.failures:
            if before is None or failure not in before.failures:
                _log.warning("release_not_served", namespace=namespace, reason=failure)
        for listener in self._listeners:
            listener(namespace, before, found)
        return found
