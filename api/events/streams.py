"""The event streams of one worker: one poll of the table per second for all of them, and only while there are any.

The poll keeps the newest events in memory. A client that reconnects and is further behind reads its backlog from the
database, a window at a time. Edits, which are no events of the table, come from `branch_feeds`.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import NamedTuple

from api import logs
from api.db.database import Database, Notifier
from api.db.events.events import Event, list_events, newest_id
from api.errors import Unauthenticated, UnknownSession
from api.events.branch_feeds import BranchFeeds, Edit, Feed
from api.events.event_visibility import can_see_event
from api.http.request.client_presence import ClientPresence
from api.interfaces import Authenticator, Principal
from api.runtime.jobs.background import run_in_thread
from gitstore.errors import StoreError

KEEPALIVE = 15.0  # seconds without an event before a client gets a comment
CHECK_INTERVAL = 2.0  # seconds within which the stream of an invalid token ends
WINDOW = 100  # events of a backlog per query
_POLL_INTERVAL = 1.0  # seconds
_RECENT = 1000

_log = logs.logger("streams")


class StreamStart(NamedTuple):
    """The start of a stream: a client that reconnects with this id misses no event."""

    id: int


class KeepAlive(NamedTuple):
    """A sign of life without an event, so that proxies do not close the idle connection."""


StreamItem = Event | Edit | StreamStart | KeepAlive


class Streams:
    """A background service that sends events to the streams of one worker."""

    def __init__(self, reader: Database, notifier: Notifier, directory: Authenticator, branches: BranchFeeds) -> None:
        """Create the service for a database; `notifier` is called after this worker recorded events."""
        self._reader = reader
        self._notifier = notifier
        self._directory = directory
        self._branches = branches
        self._followers: set[asyncio.Event] = set()
        self._recent: deque[Event] = deque()
        self._oldest_id = self._newest_id = 0
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._ending = False

    async def start(self) -> None:
        """Listen to this worker's own writes; polling begins with the first stream."""
        loop = asyncio.get_running_loop()
        self._notifier.listen(lambda: loop.call_soon_threadsafe(self._wake.set))

    async def stop(self) -> None:
        """End all streams and the poll."""
        self.release()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._branches.stop()

    def release(self) -> None:
        """End all streams, and start no more, since the worker is stopping. Clients reconnect to another worker."""
        self._ending = True
        self._wake_followers()

    @property
    def count(self) -> int:
        """The number of open streams."""
        return len(self._followers)

    async def newest(self) -> int:
        """Return the id of the newest event; raises if the database cannot be read."""
        return await run_in_thread(self._newest)

    async def follow(
        self,
        namespace: str | None,
        bearer: str,
        after: int,
        newest: int,
        may_follow: Callable[[Principal], bool] = bool,
        presence: ClientPresence | None = None,
    ) -> AsyncIterator[StreamItem]:
        """Yield each event of a namespace (None: of all) after an id that the token may see, and the edits from now on.

        It ends when the token is invalid, its holder may not follow any more, or the client has left. `newest` is a recent
        result of the method `newest`.
        """
        wakeup, presence = asyncio.Event(), presence or ClientPresence()
        self._followers.add(wakeup)
        presence.listen(wakeup.set)
        self._start_polling(newest)
        clock = asyncio.get_running_loop().time
        feed: Feed | None = None
        try:
            if principal := await self._admitted(bearer, may_follow):
                feed = await self._branches.open(namespace, principal, wakeup.set)
            yield StreamStart(after)
            sent_at = clock()
            while not self._ending and not presence.is_gone and (now := await self._admitted(bearer, may_follow)):
                wakeup.clear()
                feed = feed or await self._branches.open(namespace, now, wakeup.set)
                feed.principal = now
                found, after = await self._after(namespace, after, newest)
                items: list[Event | Edit] = [*found, *feed.take()]
                for item in items:
                    # The client may have read the last item slowly, and the events may have been read slowly.
                    principal = await self._admitted(bearer, may_follow)
                    if principal is None:
                        return
                    if _can_see(principal, item):
                        yield item
                        sent_at = clock()
                if clock() - sent_at >= KEEPALIVE:
                    yield KeepAlive()
                    sent_at = clock()
                if len(found) < WINDOW:
                    await _wait(wakeup, CHECK_INTERVAL)
        finally:
            self._followers.discard(wakeup)
            if feed:
                self._branches.close(feed)
            presence.forget(wakeup.set)

    async def _admitted(self, bearer: str, may_follow: Callable[[Principal], bool]) -> Principal | None:
        """Return the principal of a stream, if the token is still valid and its holder may still follow."""
        try:
            if not self._directory.is_fresh():
                await run_in_thread(self._directory.reload)
            principal = await self._authenticate(bearer)
        except (Unauthenticated, StoreError, OSError):
            return None
        return principal if may_follow(principal) else None

    async def _authenticate(self, bearer: str) -> Principal:
        try:
            return self._directory.authenticate(bearer)
        except UnknownSession as ex:
            await run_in_thread(self._directory.learn, ex.session)
        return self._directory.authenticate(bearer)

    async def _after(self, namespace: str | None, after: int, begun: int) -> tuple[list[Event], int]:
        """Return the next events, at most WINDOW, and the id up to which there are no others.

        Those up to `begun`, the newest when the stream began, are read from the database: in memory there may be events of
        a namespace of the same name that was deleted since.
        """
        newest_seen = self._newest_id
        if self._task is not None and after >= max(self._oldest_id, begun):
            found = [
                event
                for event in self._recent
                if after < event.id <= newest_seen and namespace in (None, event.namespace)
            ]
            found = found[:WINDOW]
        else:
            try:
                found = await run_in_thread(self._read, after, WINDOW, namespace)
            except (StoreError, OSError) as ex:
                _log.warning("events_not_read", error=str(ex))
                return [], after
        if len(found) == WINDOW:
            return found, found[-1].id
        return found, max(after, newest_seen, *(event.id for event in found))

    def _start_polling(self, newest: int) -> None:
        """Poll from now on; streams read earlier events from the database."""
        if self._task is None or self._task.done():
            self._recent.clear()
            self._oldest_id = self._newest_id = newest
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while self._followers and not self._ending:
            self._wake.clear()
            more = await self._poll()
            if not more:
                await _wait(self._wake, _POLL_INTERVAL)
        self._task = None

    async def _poll(self) -> bool:
        """Read the new events; True if there may be more."""
        try:
            found = await run_in_thread(self._read, self._newest_id, _RECENT)
        except (StoreError, OSError) as ex:
            _log.warning("events_not_read", error=str(ex))
            return False
        self._recent.extend(found)
        while len(self._recent) > _RECENT:
            self._oldest_id = self._recent.popleft().id
        if found:
            self._newest_id = found[-1].id
            self._wake_followers()
        return len(found) == _RECENT

    def _wake_followers(self) -> None:
        for follower in self._followers:
            follower.set()

    def _newest(self) -> int:
        with self._reader.reading() as connection:
            return newest_id(connection)

    def _read(self, after: int, limit: int, namespace: str | None = None) -> list[Event]:
        with self._reader.reading() as connection:
            return list_events(connection, after, limit, namespace)


def _can_see(principal: Principal, item: Event | Edit) -> bool:
    if isinstance(item, Edit):
        return item.is_visible(principal)
    return can_see_event(principal, item.namespace, item.project, item.type)


async def _wait(event: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
