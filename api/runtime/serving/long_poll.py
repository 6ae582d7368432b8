"""Long polls: requests that wait until a project has another version than their own.

The first reader of a moved release wakes them, usually the watcher. As events can be missed, the refs of all namespaces
with waiting requests are also polled once a second.
"""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Iterable

from api.runtime.jobs.background_task import TaskService
from api.runtime.serving.release_loader import ReleaseLoader
from gitstore.errors import StoreError
from gitstore.history.live import LiveNamespace

MAX_WAIT = 300  # seconds; a client that asks for more gets the actual time in Preference-Applied
_POLL_INTERVAL = 1.0
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?([0-9]{1,9})\"?(?:$|[,;\s])", re.IGNORECASE)


class LongPolls(TaskService):
    """The long polls of one worker; a background service."""

    def __init__(self, releases: ReleaseLoader) -> None:
        super().__init__()
        self._releases = releases
        # The waiting requests, by namespace, project and known version: a publish looks only at those that it wakes.
        self._waiters: dict[str, dict[tuple[str, str], set[asyncio.Future[None]]]] = defaultdict(dict)
        self._ending = False
        releases.listen(self.on_release)

    async def stop(self) -> None:
        """Stop polling and answer all."""
        await super().stop()
        self.release()

    def release(self) -> None:
        """Answer all waiting requests with the current version, and let none wait, since the worker is stopping."""
        self._ending = True
        for groups in list(self._waiters.values()):
            for waiters in groups.values():
                _wake(waiters)

    @property
    def count(self) -> int:
        """The number of waiting requests."""
        return sum(len(waiters) for groups in self._waiters.values() for waiters in groups.values())

    async def wait(
        self, namespace: str, project: str, known: str, seconds: float, ended: "asyncio.Future[None]"
    ) -> float:
        """Wait until another version of the project than `known` is served, at most `seconds`; return the wait.

        The wait also ends when `ended` is done.
        """
        if self._ending or seconds <= 0 or ended.done():
            return 0.0
        begun = time.perf_counter()
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        waiters = self._waiters[namespace].setdefault((project, known), set())
        waiters.add(waiter)
        timer = loop.call_later(seconds, _finish, waiter)

        def end(_: object) -> None:
            _finish(waiter)

        ended.add_done_callback(end)
        try:
            await waiter
        finally:
            ended.remove_done_callback(end)
            timer.cancel()
            waiters.remove(waiter)
            if not waiters:
                self._waiters[namespace].pop((project, known), None)
        return time.perf_counter() - begun

    def on_release(self, namespace: str, _before: LiveNamespace | None, after: LiveNamespace) -> None:
        """Wake the requests that know another version than the current one.

        The state before does not show which: two requests may read the first state of a namespace at once.
        """
        for (project, known), waiters in self._waiters.get(namespace, {}).items():
            if known != _version(after, project):
                _wake(waiters)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(_POLL_INTERVAL)
            for namespace in [name for name, groups in self._waiters.items() if groups]:
                try:
                    await self._releases.namespace(namespace)
                except (StoreError, OSError):
                    continue  # waiting requests are answered after their time; the readiness check reports the error


def read_wait(header: str | None) -> int:
    """Parse the seconds of `Prefer: wait=<s>` (RFC 7240, section 4.3), at most MAX_WAIT; 0 if it is missing."""
    found = _WAIT.search(header) if header else None
    return min(int(found[1]), MAX_WAIT) if found else 0


def _version(namespace: LiveNamespace, project: str) -> str | None:
    found = namespace.projects.get(project)
    return found.version if found else None


def _wake(waiters: Iterable[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        _finish(waiter)


def _finish(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
