"""Long polls: requests that wait until a project has another version than the one they know.

They are woken by whoever reads a moved release first, mostly the watcher; and because that is only a convenience, a
clock looks at the refs of all namespaces that are waited for once a second.
"""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Iterable

from api.routine import Routine
from api.served import Served
from gitstore.errors import StoreError
from gitstore.live import LiveNamespace

LONGEST_WAIT = 300
"""Seconds; a client that asks for more is told how long it got by Preference-Applied."""
_LOOK_INTERVAL = 1.0
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?([0-9]{1,9})\"?(?:$|[,;\s])", re.IGNORECASE)


class Waiting:
    """The long polls of one worker; a companion of the service."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._waiters: dict[str, dict[str, dict[asyncio.Future[None], str]]] = defaultdict(dict)
        """By namespace and project, who waits, each with the version that they know."""
        self._routine = Routine(self._look)
        self._ending = False
        served.listen(self.tell)

    async def start(self) -> None:
        """Begin to look at the refs that are waited for."""
        self._routine.begin()

    async def stop(self) -> None:
        """End."""
        await self._routine.end()
        self.release()

    def release(self) -> None:
        """Answer all who wait with what is served now, and let nobody wait from now on: the worker shall end."""
        self._ending = True
        for projects in list(self._waiters.values()):
            for waiters in projects.values():
                _wake(waiters)

    @property
    def count(self) -> int:
        """How many wait."""
        return sum(len(waiters) for projects in self._waiters.values() for waiters in projects.values())

    async def wait(self, namespace: str, project: str, known: str, seconds: float) -> float:
        """Return when another version of the project than the known one is served, or after so many seconds: how many it were."""
        if self._ending or seconds <= 0:
            return 0.0
        begun = time.perf_counter()
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        waiters = self._waiters[namespace].setdefault(project, {})
        waiters[waiter] = known
        timer = loop.call_later(seconds, _finish, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            del waiters[waiter]
        return time.perf_counter() - begun

    def tell(self, namespace: str, _before: LiveNamespace | None, after: LiveNamespace) -> None:
        """Wake those who know another version than the one that is served now.

        The state before says nothing of them: two requests may read the first state of a namespace at once.
        """
        for project, waiters in self._waiters.get(namespace, {}).items():
            version = _version(after, project)
            _wake(waiter for waiter, known in waiters.items() if known != version)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_INTERVAL)
            for namespace in [name for name, projects in self._waiters.items() if any(projects.values())]:
                try:
                    await self._served.namespace(namespace)
                except (StoreError, OSError):
                    continue  # those who wait are answered when their time is over; readiness tells of the rest


def read_wait(header: str | None) -> int:
    """The seconds of `Prefer: wait=<s>` (RFC 7240), at most LONGEST_WAIT; 0 where it is not there."""
    found = _WAIT.search(header) if header else None
    return min(int(found[1]), LONGEST_WAIT) if found else 0


def _version(namespace: LiveNamespace, project: str) -> str | None:
    found = namespace.projects.get(project)
    return found.version if found else None


def _wake(waiters: Iterable[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        _finish(waiter)


def _finish(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
