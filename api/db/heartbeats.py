"""Heartbeats, buffered in memory and written together, so that 10,000 agents cost one transaction a second."""

import threading
from collections.abc import Callable
from datetime import datetime

from api.db.agents import AgentKey, note_seen
from api.db.database import Connection, Database
from api.db.errors import StateBusy
from api.db.timestamps import Clock, utc_now

MOST_PENDING = 100_000


class Heartbeats:
    """The pending heartbeats of one worker; only the latest of each agent counts."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: dict[AgentKey, datetime] = {}

    @property
    def pending(self) -> int:
        """The number of pending heartbeats."""
        return len(self._pending)

    def note(self, key: AgentKey) -> None:
        """Record a heartbeat now. StateBusy if too many are pending, so that a broken disk does not fill the memory."""
        with self._lock:
            if key not in self._pending and len(self._pending) >= MOST_PENDING:
                raise StateBusy("Too many heartbeats are pending. Try again in a moment.")
            self._pending[key] = self._clock()

    def drop(self, key: AgentKey) -> None:
        """Drop the pending heartbeat of an agent."""
        with self._lock:
            self._pending.pop(key, None)

    def flush(self, also: Callable[[Connection], None] | None = None) -> int:
        """Write the pending heartbeats, and call `also`, in one transaction; return the number of heartbeats.

        If the write fails, they stay pending; with nothing to write there is no transaction.
        """
        with self._lock:
            taken, self._pending = self._pending, {}
        if not taken and also is None:
            return 0
        try:
            with self._database.writing() as connection:
                note_seen(connection, sorted(taken.items()))
                if also is not None:
                    also(connection)
        except BaseException:
            with self._lock:
                self._pending = taken | self._pending
            raise
        return len(taken)
