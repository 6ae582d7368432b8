"""The audit writer of a worker: it brings what requests noted in memory into the trail, so that only changes wait for it."""

import asyncio
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from threading import Lock
from typing import NamedTuple

from api import logs
from api.db.audit import OPERATOR_KIND, Actor, AuditEntry, AuditEvent, record
from api.db.audit_chain import START, AuditEnds, Link, read_head
from api.db.audit_checkpoints import newest_checkpoint
from api.db.audit_repeats import KindLimit, Repeat, add_repeats, close_minutes, has_past_minutes, minute_of
from api.db.database import Connection, Database
from api.db.timestamps import Clock
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.background_task import TaskService
from gitstore.errors import StoreError

INTERVAL = 1.0
LOOK_INTERVAL = 5.0
"""Seconds between two looks at what other workers wrote, while nothing is noted here."""
STORE_TIMEOUT = 1.0
"""Seconds that a response waits for its entry; then the entry stays in memory."""
MOST_NOTED = 10_000  # entries, and kinds of events that are counted, while the database cannot be written
_Group = tuple[datetime, str, Actor]  # an event of an actor in a minute
_SERVICE = Actor(OPERATOR_KIND, None, OPERATOR_KIND)

_log = logs.logger("audit")


class _Batch(NamedTuple):
    """The notes since the last round, and the number of entries that could not be kept."""

    repeats: Counter[tuple[datetime, Repeat]]
    entries: list[AuditEntry]
    lost: int = 0

    def __bool__(self) -> bool:
        return bool(self.repeats or self.entries or self.lost)

    def by_minute(self) -> Mapping[datetime, Mapping[Repeat, int]]:
        """Return the counts of each minute."""
        found = defaultdict[datetime, dict[Repeat, int]](dict)
        for (minute, repeat), count in self.repeats.items():
            found[minute][repeat] = count
        return found

    def size(self) -> int:
        """Return the number of events."""
        return self.repeats.total() + len(self.entries)

    def split(self) -> Iterator["_Batch"]:
        """Yield a batch for each entry and each kind of event."""
        for key, count in self.repeats.items():
            yield _Batch(Counter({key: count}), [])
        for entry in self.entries:
            yield _Batch(Counter(), [entry])
        if self.lost:
            yield _Batch(Counter(), [], self.lost)


class AuditWriter(TaskService):
    """A background service that writes once a second, if there is anything to write; while the database fails, it keeps what was noted.

    Like events are counted by minute, and entries are written as they are. An entry to store is written at once, in one transaction with
    all that wait meanwhile. A worker that is killed loses the events of a second, and no entry whose request was answered while the
    database could be written. What is lost otherwise is counted: in the metrics by `count_lost`, in the log, and in an entry as soon as
    one can be written.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__()
        self._ends = AuditEnds()
        self._database = database
        self._clock = clock
        # Of what follows, held for microseconds: requests note on the event loop, rounds run in threads.
        self._lock = Lock()
        self._repeats = Counter[tuple[datetime, Repeat]]()
        self._kinds = defaultdict[_Group, KindLimit](KindLimit)
        self._entries = deque[AuditEntry]()
        self._lost = 0
        self._writing = Lock()
        self._wanted = asyncio.Event()
        self._waiting: list[asyncio.Future[None]] = []  # requests whose entries the next round writes
        self._is_running = False
        self.count_lost: Callable[[int], None] = lambda _count: None

    def count(self, repeat: Repeat) -> None:
        """Note an event that is counted with like ones of the minute; takes microseconds."""
        minute = minute_of(self._clock())
        with self._lock:
            self._add((minute, self._limit(minute, repeat)), 1)

    async def store(self, entry: AuditEntry) -> None:
        """Note an entry, and wait until it is written, or for `STORE_TIMEOUT` seconds: the action is done, so it never fails."""
        self.note(entry)
        if self._is_running:
            stored = asyncio.get_running_loop().create_future()
            self._waiting.append(stored)
            self._wanted.set()
            await asyncio.wait({stored}, timeout=STORE_TIMEOUT)

    def note(self, entry: AuditEntry) -> None:
        """Note an entry; takes microseconds."""
        with self._lock:
            if len(self._entries) < MOST_NOTED:
                self._entries.append(entry)
            else:
                self._lose(1)

    def ends(self) -> AuditEnds:
        """Return the newest row, and the newest one that was removed, as of the last round."""
        return self._ends

    def now(self) -> datetime:
        """Return the time for entries."""
        return self._clock()

    def write(self) -> None:
        """Write what was noted, close past minutes, and read the head of the chain."""
        with self._writing:
            batch = self._take()
            try:
                self._write(batch)
            except (StoreError, OSError) as ex:
                self._put_back(batch)
                _log.warning("audit_not_written", error=str(ex))
            except Exception:  # noqa: BLE001 - one entry that cannot be written must not take the others along
                self._write_singly(batch)

    async def start(self) -> None:
        """Start; from now on `store` waits."""
        self._is_running = True
        await super().start()

    async def stop(self) -> None:
        """Stop after a last round."""
        self._is_running = False
        await super().stop()
        await self._write_round()
        if left := self._take():
            _log.error("audit_entries_lost", count=left.size() + left.lost, reason="the service stops")

    async def _run(self) -> None:
        looked_at = float("-inf")
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), INTERVAL)
            now = time.monotonic()
            is_due = self._repeats or self._entries or self._lost or now - looked_at >= LOOK_INTERVAL
            if is_due or self._wanted.is_set():  # another round may have taken the entry already
                looked_at = now
                await self._write_round()

    async def _write_round(self) -> None:
        """Write what was noted, and let the requests go on that wait for it, also if the database failed."""
        waiting, self._waiting = self._waiting, []
        self._wanted.clear()
        try:
            await run_in_thread(self.write)
        finally:
            for stored in waiting:
                if not stored.done():
                    stored.set_result(None)

    def _limit(self, minute: datetime, repeat: Repeat) -> Repeat:
        """Return the kind that an event is counted as: beyond the most kinds of a minute, the one for the rest."""
        return self._kinds[minute, repeat.event, repeat.actor].admit(repeat)

    def _add(self, key: tuple[datetime, Repeat], count: int) -> None:
        if key in self._repeats or len(self._repeats) < MOST_NOTED:
            self._repeats[key] += count
        else:
            self._lose(count)

    def _lose(self, count: int) -> None:
        self._lost += count
        self.count_lost(count)

    def _take(self) -> _Batch:
        """Take what was noted; the kinds of the present minute stay known."""
        minute = minute_of(self._clock())
        with self._lock:
            batch = _Batch(self._repeats, list(self._entries), self._lost)
            self._repeats, self._lost = Counter(), 0
            for group in [each for each in self._kinds if each[0] != minute]:
                del self._kinds[group]
            self._entries.clear()
            return batch

    def _put_back(self, batch: _Batch) -> None:
        """Keep what could not be written, before what was noted since; what is too much is lost."""
        with self._lock:
            entries = [*batch.entries, *self._entries]
            self._entries = deque(entries[:MOST_NOTED])
            if excess := len(entries) - len(self._entries):
                self._lose(excess)
            for key, count in batch.repeats.items():
                self._add(key, count)
            self._lost += batch.lost

    def _has_past_minutes(self) -> bool:
        """Read the head of the chain, and tell whether events of past minutes are to be written."""
        with self._database.reading() as connection:
            self._ends = _read_ends(connection)
            return has_past_minutes(connection, self._clock())

    def _write(self, batch: _Batch) -> None:
        if not batch and not self._has_past_minutes():
            return  # an idle service writes nothing
        with self._database.writing() as connection:
            for minute, counts in sorted(batch.by_minute().items()):
                add_repeats(connection, minute, counts)
            for entry in batch.entries:
                record(connection, entry)
            if batch.lost:
                detail = {"entries": batch.lost}
                record(connection, AuditEntry(self._clock(), AuditEvent.ENTRIES_LOST, _SERVICE, "audit", detail))
            close_minutes(connection, self._clock())
            ends = _read_ends(connection)
        self._ends = ends
        if batch.lost:
            _log.error("audit_entries_lost", count=batch.lost, reason="the database could not be written")

    def _write_singly(self, batch: _Batch) -> None:
        """Write each part by itself, and lose those that cannot be written."""
        for part in batch.split():
            try:
                self._write(part)
            except (StoreError, OSError) as ex:
                self._put_back(part)
                _log.warning("audit_not_written", error=str(ex))
            except Exception as ex:  # noqa: BLE001 - whatever it is, the next part is written, and the loss is counted
                _log.error("audit_entry_not_written", exc_info=ex)
                with self._lock:
                    self._lose(part.size())
                    self._lost += part.lost


def _read_ends(connection: Connection) -> AuditEnds:
    checkpoint = newest_checkpoint(connection)
    return AuditEnds(read_head(connection), checkpoint.link if checkpoint else Link(0, START))
