"""The audit writer of a worker: it brings what requests noted in memory into the trail, so that no request waits for it."""

import asyncio
from collections import Counter, deque
from datetime import datetime

from api import logs
from api.db.audit import ANONYMOUS, AuditEntry, AuditEvent, record
from api.db.audit_chain import START, AuditEnds, Link, read_head
from api.db.audit_checkpoints import newest_checkpoint
from api.db.audit_repeats import Refusal, add_refusals, close_minutes, has_past_minutes, minute_of
from api.db.database import Connection, Database
from api.db.timestamps import Clock
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.background_task import TaskService
from gitstore.errors import StoreError

INTERVAL = 1.0
_MOST_KINDS = 500  # of refusals that differ, between two rounds; the others are counted together
_MOST_ENTRIES = 10_000
_OTHER = Refusal(AuditEvent.REFUSED, ANONYMOUS, "", None, "", "", 0, "too_many_kinds")

_log = logs.logger("audit")


class AuditWriter(TaskService):
    """A background service that writes once a second; while the database fails, it keeps what was noted.

    Refusals are counted by minute, and entries are written as they are. A worker that is killed loses those of a second.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__()
        self._ends = AuditEnds()
        self._database = database
        self._clock = clock
        self._refusals = Counter[tuple[datetime, Refusal]]()
        self._entries = deque[AuditEntry](maxlen=_MOST_ENTRIES)

    def refuse(self, refusal: Refusal) -> None:
        """Note a refusal; takes microseconds."""
        key = (minute_of(self._clock()), refusal)
        if key not in self._refusals and len(self._refusals) >= _MOST_KINDS:
            key = (key[0], _OTHER)
        self._refusals[key] += 1

    def note(self, entry: AuditEntry) -> None:
        """Note an entry; takes microseconds."""
        self._entries.append(entry)

    def ends(self) -> AuditEnds:
        """Return the newest row, and the newest one that was removed, as of the last round."""
        return self._ends

    def now(self) -> datetime:
        """Return the time for entries."""
        return self._clock()

    def write(self) -> None:
        """Write what was noted, close past minutes, and read the head of the chain."""
        refusals, self._refusals = self._refusals, Counter()
        entries = [self._entries.popleft() for _ in range(len(self._entries))]
        try:
            self._write(refusals, entries)
        except (StoreError, OSError) as ex:
            self._refusals.update(refusals)
            self._entries.extendleft(reversed(entries))
            _log.warning("audit_not_written", error=str(ex))

    async def stop(self) -> None:
        """Stop after a last round."""
        await super().stop()
        await run_in_thread(self.write)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            await run_in_thread(self.write)

    def _has_past_minutes(self) -> bool:
        """Read the head of the chain, and tell whether refusals of past minutes are to be written."""
        with self._database.reading() as connection:
            self._ends = _read_ends(connection)
            return has_past_minutes(connection, self._clock())

    def _write(self, refusals: Counter[tuple[datetime, Refusal]], entries: list[AuditEntry]) -> None:
        if not refusals and not entries and not self._has_past_minutes():
            return  # an idle service writes nothing
        with self._database.writing() as connection:
            for minute in sorted({minute for minute, _ in refusals}):
                counts = {refusal: count for (at, refusal), count in refusals.items() if at == minute}
                add_refusals(connection, minute, counts)
            for entry in entries:
                record(connection, entry)
            close_minutes(connection, self._clock())
            ends = _read_ends(connection)
        self._ends = ends


def _read_ends(connection: Connection) -> AuditEnds:
    checkpoint = newest_checkpoint(connection)
    return AuditEnds(read_head(connection), checkpoint.link if checkpoint else Link(0, START))
