"""Those of one worker who follow events: a poll of the table a second for all of them, and only while there are any.

The poll keeps the newest events in memory. A client that is further behind, since it comes again after a while, reads
its backlog from the database, a window at a time.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import NamedTuple

from api import logs
from api.background import in_thread
from api.collaborators import Directory, Principal
from api.errors import Unauthenticated
from api.notice.sight import may_hear
from api.state.bell import Bell
from api.state.database import Database
from api.state.events import Event, list_events, newest_id
from gitstore.errors import StoreError

KEEPALIVE = 15.0
"""Seconds after which a client is sent a comment where there was no event."""
CHECK_INTERVAL = 2.0
"""Seconds within which a stream ends whose token is no longer good."""
WINDOW = 100
"""Events of a backlog that are read at a time."""
_LOOK_INTERVAL = 1.0
_RECENT = 1000

_log = logs.logger("streams")


class Position(NamedTuple):
    """Where a stream begins: whoever comes again with this id misses nothing."""

    id: int


class Silence(NamedTuple):
    """Nothing happened for a while; sent so that nobody on the way takes the connection for dead."""


Piece = Event | Position | Silence


class Streams:
    """A companion of the service."""

    def __init__(self, reader: Database, told: Bell, directory: Directory) -> None:
        """Follow the events of a database; `told` rings where this worker wrote some."""
        self._reader = reader
        self._told = told
        self._directory = directory
        self._followers: set[asyncio.Event] = set()
        self._recent: deque[Event] = deque()
        self._floor = self._upto = 0
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._ending = False

    async def start(self) -> None:
        """Be woken by this worker's own writes; nothing else goes on until somebody follows."""
        loop = asyncio.get_running_loop()
        self._told.listen(lambda: loop.call_soon_threadsafe(self._wake.set))

    async def stop(self) -> None:
        """End."""
        self.release()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def release(self) -> None:
        """End all streams, and let none begin: the worker shall end. Clients come again, to another worker."""
        self._ending = True
        self._rouse()

    @property
    def count(self) -> int:
        """How many follow."""
        return len(self._followers)

    async def newest(self) -> int:
        """The id of the newest event; raises where the database cannot be read."""
        return await in_thread(self._newest)

    async def follow(self, namespace: str, bearer: str, after: int, newest: int) -> AsyncIterator[Piece]:
        """Every event of a namespace after an id, of the projects that the token may read, until the token ends.

        `newest` is what `newest` gave shortly before.
        """
        roused = asyncio.Event()
        self._followers.add(roused)
        self._begin_to_look(newest)
        clock = asyncio.get_running_loop().time
        try:
            yield Position(after)
            sent_at = clock()
            while not self._ending and (principal := await self._principal(bearer)):
                roused.clear()
                found, after = await self._after(namespace, after)
                for event in found:
                    if may_hear(principal, event.namespace, event.project, event.type):
                        yield event
                        sent_at = clock()
                if clock() - sent_at >= KEEPALIVE:
                    yield Silence()
                    sent_at = clock()
                if len(found) < WINDOW:
                    await _wait(roused, CHECK_INTERVAL)
        finally:
            self._followers.discard(roused)

    async def _principal(self, bearer: str) -> Principal | None:
        """Who follows, if the token is still good."""
        try:
            if not self._directory.fresh():
                await in_thread(self._directory.reload)
            return self._directory.authenticate(bearer)
        except (Unauthenticated, StoreError, OSError):
            return None

    async def _after(self, namespace: str, after: int) -> tuple[list[Event], int]:
        """The next events, at most WINDOW, and the id up to which there are no others."""
        upto = self._upto
        if self._task is not None and after >= self._floor:
            found = [event for event in self._recent if after < event.id <= upto and event.namespace == namespace]
            found = found[:WINDOW]
        else:
            try:
                found = await in_thread(self._read, after, WINDOW, namespace)
            except (StoreError, OSError) as ex:
                _log.warning("events_not_read", error=str(ex))
                return [], after
        if len(found) == WINDOW:
            return found, found[-1].id
        return found, max(after, upto, *(event.id for event in found))

    def _begin_to_look(self, newest: int) -> None:
        """Poll from now on; what lies before is read from the database by those who want it."""
        if self._task is None or self._task.done():
            self._recent.clear()
            self._floor = self._upto = newest
            self._task = asyncio.create_task(self._look())

    async def _look(self) -> None:
        while self._followers and not self._ending:
            self._wake.clear()
            more = await self._poll()
            if not more:
                await _wait(self._wake, _LOOK_INTERVAL)
        self._task = None

    async def _poll(self) -> bool:
        """Take over what is new; True where there may be more."""
        try:
            found = await in_thread(self._read, self._upto, _RECENT)
        except (StoreError, OSError) as ex:
            _log.warning("events_not_read", error=str(ex))
            return False
        self._recent.extend(found)
        while len(self._recent) > _RECENT:
            self._floor = self._recent.popleft().id
        if found:
            self._upto = found[-1].id
            self._rouse()
        return len(found) == _RECENT

    def _rouse(self) -> None:
        for follower in self._followers:
            follower.set()

    def _newest(self) -> int:
        with self._reader.reading() as connection:
            return newest_id(connection)

    def _read(self, after: int, limit: int, namespace: str | None = None) -> list[Event]:
        with self._reader.reading() as connection:
            return list_events(connection, after, limit, namespace)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
