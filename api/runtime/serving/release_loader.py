"""The release loader of a worker: a look-up on the hot path; everything else runs off the event loop.

A state that is not compiled yet is compiled by another process, while the last good one is served.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from api import logs
from api.runtime.jobs.background import RELEASE_QUEUE, JobTimeout, ProcessLost, run_in_queue, run_in_thread
from gitstore.errors import Broken, NotCompiled, NotFound, StoreError
from gitstore.history.live import LiveNamespace, LiveProject
from gitstore.store.releases import CompileOutcome
from gitstore.store.store import Store

# Between two looks at a state that another worker compiles; the first is soon, since most take only a moment.
_FIRST_PENDING_SECONDS = 0.05
_PENDING_SECONDS = 0.5
_REPAIR_SECONDS = 5.0  # between two attempts to compile a state that cannot be read
_TIMEOUT_SECONDS = 60.0  # after a job that took too long, before the next one

_TOO_LONG = "The namespace could not be compiled: the job took too long, or its process ended. The log has the details."

T = TypeVar("T")

_log = logs.logger("release_loader")


class JobFailed(Broken):
    """A compile job took too long, or its process ended."""


class ReleaseLoader:
    """The loader of served releases; when release moves, one request reads it again while the others wait.

    `find_loss` looks for the data directory, and returns the part that is lost: then nothing is read or compiled.
    """

    def __init__(self, store: Store, find_loss: Callable[[], str | None] = lambda: None) -> None:
        self.find_loss = find_loss
        self._store = store
        self._locks: dict[str, asyncio.Lock] = {}
        self._begun: dict[str, float] = {}  # the times at which the last refreshes for requests began
        self._compiling: dict[str, asyncio.Task[None]] = {}
        self._retry_at: dict[str, float] = {}
        self._listeners: tuple[Callable[[str, LiveNamespace | None, LiveNamespace], None], ...] = ()
        self._loop: asyncio.AbstractEventLoop | None = None
        store.live.defers = True
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._refreshing: set[asyncio.Task[LiveNamespace]] = set()
        store.live.listener = self._note
        store.live.opening_listener = self._note_opening

    async def start(self) -> None:
        """Tell the listeners from now on, in this event loop."""
        self._loop = asyncio.get_running_loop()

    def listen(self, listener: Callable[[str, LiveNamespace | None, LiveNamespace], None]) -> None:
        """Add a listener, called with the namespace, the state before and the state after each reload."""
        self._listeners = (*self._listeners, listener)

    async def project(self, namespace: str, project: str) -> LiveProject:
        """Return the served state of a project; raises NotFound or Broken."""
        found = self._peek(namespace, project) or await self._first_state(namespace, project)
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

    def _peek(self, namespace: str, project: str) -> LiveNamespace | None:
        live = self._store.live
        return live.peek(namespace) or (live.peek_unchanged(namespace, project) if project else None)

    async def _first_state(self, namespace: str, project: str) -> LiveNamespace:
        """Return the refreshed state, or before that the one in which nothing of the project changed."""
        opening = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(namespace, set())
        waiting.add(opening)
        whole = asyncio.create_task(self._refreshed(namespace, project))
        self._refreshing.add(whole)
        whole.add_done_callback(self._forget_refresh)
        try:
            await asyncio.wait((opening, whole), return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.discard(opening)
            if not waiting:
                self._waiting.pop(namespace, None)
        found = None if whole.done() else self._store.live.peek_unchanged(namespace, project)
        return found or await whole

    def _forget_refresh(self, refresh: asyncio.Task[LiveNamespace]) -> None:
        self._refreshing.discard(refresh)
        if not refresh.cancelled():
            refresh.exception()  # marks it as handled, also where no one waits any more

    def _note_opening(self, namespace: str) -> None:
        if self._loop:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._wake, namespace)

    def _wake(self, namespace: str) -> None:
        for opening in self._waiting.get(namespace, ()):
            if not opening.done():
                opening.set_result(None)

    async def _refreshed(self, namespace: str, project: str = "") -> LiveNamespace:
        """Refresh a namespace, once for all requests that arrived before the refresh began.

        A request for a project in which nothing changed does not wait until the others are opened.
        """
        arrived = time.monotonic()
        async with self._locks.setdefault(namespace, asyncio.Lock()):
            found = self._peek(namespace, project)
            if found is None and self._begun.get(namespace, 0.0) >= arrived:
                # `peek` does not trust a ref that has just moved: the next move could look the same.
                found = self._store.live.last(namespace)
            if found is None:
                begun = time.monotonic()
                found = await self._refresh(namespace)
                self._begun[namespace] = begun
            return found

    async def _refresh(self, namespace: str) -> LiveNamespace:
        """Refresh a namespace; only if it was never served, wait until it is compiled in a separate process."""
        try:
            return await self._reload(namespace, compiles=False)
        except NotFound:
            self._forget(namespace)
            raise
        except NotCompiled:
            try:
                await self._run_job(namespace, self._store.releases.compile)
            except JobFailed:
                raise
            except (StoreError, OSError):  # the refresh meets the same error, and reports it
                _log.debug("compile_failed", namespace=namespace)
            return await self._reload(namespace, compiles=True)

    def _forget(self, namespace: str) -> None:
        """Drop what is kept of a namespace that does not exist: names in requests are without end."""
        self._begun.pop(namespace, None)
        self._locks.pop(namespace, None)
        self._retry_at.pop(namespace, None)

    async def _run_job(self, namespace: str, job: Callable[[str], T]) -> T:
        """Run a compile job; raises JobFailed if its process ended or took too long: it is not tried here in a thread."""
        if time.monotonic() < self._retry_at.get(namespace, 0.0):
            raise JobFailed(_TOO_LONG)
        self._require_data()
        try:
            found = await run_in_queue(f"{RELEASE_QUEUE}{namespace}", job, namespace)
        except (JobTimeout, ProcessLost) as ex:
            _log.warning("release_not_compiled", namespace=namespace, error=str(ex))
            if isinstance(ex, JobTimeout):
                self._retry_at[namespace] = time.monotonic() + _TIMEOUT_SECONDS
            raise JobFailed(_TOO_LONG) from ex
        self._retry_at.pop(namespace, None)
        return found

    async def _reload(self, namespace: str, *, compiles: bool) -> LiveNamespace:
        """Read the state on disk."""
        return await run_in_thread(self._read, namespace, compiles=compiles)

    def _note(self, namespace: str, before: LiveNamespace | None, found: LiveNamespace) -> None:
        """Handle a refresh in the event loop; it may be of any thread, such as that of a request for the history."""
        if self._loop:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._handle, namespace, before, found)

    def _handle(self, namespace: str, before: LiveNamespace | None, found: LiveNamespace) -> None:
        """Have an unfinished state compiled, and tell the listeners."""
        if found.is_unfinished and namespace not in self._compiling:
            self._compiling[namespace] = asyncio.create_task(self._compile(namespace))
        for failure in found.failures:
            if before is None or failure not in before.failures:
                _log.warning("release_not_served", namespace=namespace, reason=failure)
        for listener in self._listeners:
            listener(namespace, before, found)

    def _read(self, namespace: str, *, compiles: bool) -> LiveNamespace:
        self._require_data()
        return self._store.live.refresh(namespace, compiles=compiles)

    def _require_data(self) -> None:
        fault = self.find_loss()
        if fault:
            raise Broken(f"The data of this service is not available: {fault}.")

    async def _compile(self, namespace: str) -> None:
        """Have the newest state compiled, and serve it; try again until nothing is left, or reading it fails."""
        try:
            found, pause = await self._compile_once(namespace), _FIRST_PENDING_SECONDS
            while found.is_unfinished:
                await asyncio.sleep(_REPAIR_SECONDS if found.faults else pause)
                pause = min(2 * pause, _PENDING_SECONDS)
                found = await self._compile_once(namespace)
        except (StoreError, OSError) as ex:  # requests get the error, and the next one begins again
            _log.warning("release_not_compiled", namespace=namespace, error=str(ex))
        finally:
            self._compiling.pop(namespace, None)

    async def _compile_once(self, namespace: str) -> LiveNamespace:
        outcome = None
        with suppress(StoreError, OSError):  # the refresh meets the same error, and reports it
            outcome = await self._run_job(namespace, self._store.releases.compile_unattended)
        async with self._locks.setdefault(namespace, asyncio.Lock()):
            found = await self._refresh(namespace)
            # A job that cannot store its result on a full disk may end like a job that did.
            is_unstored = outcome is CompileOutcome.STORED and not found.faults
            if found.is_unfinished and (is_unstored or outcome is CompileOutcome.NO_ROOM):
                return await self._reload(namespace, compiles=True)
            return found
