"""The served state of a namespace inside one worker: the hot path is a look-up, everything else leaves the event loop."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from api import logs
from api.background import in_thread, in_worker
from gitstore.errors import StoreError
from gitstore.live import LiveNamespace, LiveProject
from gitstore.store import Store

_log = logs.logger("served")


class Served:
    """Gives what is served now; when release moved, one request reads it anew while the others wait for that."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._locks: dict[str, asyncio.Lock] = {}
        self._listeners: tuple[Callable[[str, LiveNamespace | None, LiveNamespace], None], ...] = ()

    def listen(self, listener: Callable[[str, LiveNamespace | None, LiveNamespace], None]) -> None:
        """Have somebody told of every state that is read anew, with the one before it."""
        self._listeners = (*self._listeners, listener)

    async def project(self, namespace: str, project: str) -> LiveProject:
        """What is served of a project; raises NotFound or Broken."""
        found = self._store.live.peek(namespace) or await self._refreshed(namespace)
        return found.project(project)

    async def namespace(self, namespace: str) -> LiveNamespace:
        """What is served of a namespace; raises NotFound or Broken."""
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
        """What nobody compiled yet is compiled in a process of its own; a failure there is told by the refresh."""
        with suppress(StoreError, OSError):
            if not await in_thread(self._store.live.is_compiled, namespace):
                await in_worker(self._store.warm, namespace)
        before = self._store.live.last(namespace)
        found = await in_thread(self._store.live.refresh, namespace)
        for failure in found.failures:
            if before is None or failure not in before.failures:
                _log.warning("not_served", namespace=namespace, reason=failure)
        for listener in self._listeners:
            listener(namespace, before, found)
        return found
