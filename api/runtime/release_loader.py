"""The release loader of a worker: a look-up on the hot path; everything else runs off the event loop.

A state that is not compiled yet is compiled by another process, while the last good one is served.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from api import logs
from api.runtime.background import RELEASE_QUEUE, ProcessLost, run_in_queue, run_in_thread
from gitstore.errors import NotCompiled, NotFound, StoreError
from gitstore.history.live import LiveNamespace, LiveProject
from gitstore.store.store import Store

_PENDING_SECONDS = 0.5  # between two looks at a state that another worker compiles
_REPAIR_SECONDS = 5.0  # between two attempts to compile a state that cannot be read

_log = logs.logger("release_loader")


class ReleaseLoader:
    """The loader of served releases; when release moves, one request reads it again while the others wait."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._locks: dict[str, asyncio.Lock] = {}
        self._shared: dict[str, tuple[float, LiveNamespace]] = {}  # with the time at which the refresh began
        self._compiling: dict[str, asyncio.Task[None]] = {}
        self._listeners: tuple[Callable[[str, LiveNamespace | None, LiveNamespace], None], ...] = ()
        store.live.defers = True

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

    async def stop(self) -> None:
        """Stop waiting for states that are being compiled."""
        tasks = list(self._compiling.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _refreshed(self, namespace: str) -> LiveNamespace:
        """Refresh a namespace, once for all requests that arrived before the refresh began."""
        arrived = time.monotonic()
        async with self._locks.setdefault(namespace, asyncio.Lock()):
            found = self._store.live.peek(namespace)
            begun, shared = self._shared.get(namespace, (0.0, None))
            if found is None and shared is not None and begun >= arrived:
                return shared  # a ref that has just moved is not trusted by `peek`: the next move could look the same
            if found is None:
                begun = time.monotonic()
                found = await self._refresh(namespace)
                self._shared[namespace] = begun, found
            return found

    async def _refresh(self, namespace: str) -> LiveNamespace:
        """Refresh a namespace; only if it was never served, wait until it is compiled in a separate process."""
        try:
            return await self._reload(namespace, compiles=False)
        except NotFound:
            self._forget(namespace)
            raise
        except NotCompiled:
            with suppress(StoreError, OSError):  # the refresh meets the same error, and reports it
                await run_in_queue(f"{RELEASE_QUEUE}{namespace}", self._store.releases.compile, namespace)
            return await self._reload(namespace, compiles=True)

    def _forget(self, namespace: str) -> None:
        """Drop what is kept of a namespace that does not exist: names in requests are without end."""
        self._shared.pop(namespace, None)
        self._locks.pop(namespace, None)

    async def _reload(self, namespace: str, *, compiles: bool) -> LiveNamespace:
        """Read the state on disk, and tell the listeners."""
        before = self._store.live.last(namespace)
        found = await run_in_thread(self._store.live.refresh, namespace, compiles=compiles)
        if found.is_unfinished and namespace not in self._compiling:
            self._compiling[namespace] = asyncio.create_task(self._compile(namespace))
        for failure in found.failures:
            if before is None or failure not in before.failures:
                _log.warning("release_not_served", namespace=namespace, reason=failure)
        for listener in self._listeners:
            listener(namespace, before, found)
        return found

    async def _compile(self, namespace: str) -> None:
        """Have the newest state compiled, and serve it; try again until nothing is left, or reading it fails."""
        try:
            found = await self._compile_once(namespace)
            while found.is_unfinished:
                await asyncio.sleep(_REPAIR_SECONDS if found.faults else _PENDING_SECONDS)
                found = await self._compile_once(namespace)
        except (StoreError, OSError) as ex:  # requests get the error, and the next one begins again
            _log.warning("release_not_compiled", namespace=namespace, error=str(ex))
        finally:
            self._compiling.pop(namespace, None)

    async def _compile_once(self, namespace: str) -> LiveNamespace:
        is_done = False
        with suppress(StoreError, OSError, ProcessLost):
            is_done = await run_in_queue(
                f"{RELEASE_QUEUE}{namespace}", self._store.releases.compile_unattended, namespace
            )
        async with self._locks.setdefault(namespace, asyncio.Lock()):
            found = await self._refresh(namespace)
            if is_done and found.is_unfinished and not found.faults:  # on a full disk it is kept in memory only
                return await self._reload(namespace, compiles=True)
            return found
