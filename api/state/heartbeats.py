"""Heartbeats: kept in memory as they come, written together, so that 10,000 agents cost one transaction a second."""

import threading
from collections.abc import Callable
from datetime import datetime

from api.state.agents import AgentKey, note_seen
from api.state.database import Connection, Database
from api.state.errors import StateBusy
from api.state.moment import Clock, utc_now

MOST_PENDING = 100_000


class Heartbeats:
    """The heartbeats of one worker that are not written yet; of each agent only the latest counts."""

    def __init__(self, database: Database, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: dict[AgentKey, datetime] = {}

    @property
    def pending(self) -> int:
        """How many agents' heartbeats wait to be written."""
        return len(self._pending)

    def note(self, key: AgentKey) -> None:
        """An agent was heard of now. StateBusy where too many wait, so that a broken disk fills no memory."""
        with self._lock:
            if key not in self._pending and len(self._pending) >= MOST_PENDING:
                raise StateBusy("Too many heartbeats wait to be written; try again in a moment.")
            self._pending[key] = self._clock()

    def drop(self, key: AgentKey) -> None:
        """Forget the heartbeat of an agent that waits."""
        with self._lock:
            self._pending.pop(key, None)

    def flush(self, beside: Callable[[Connection], None] | None = None) -> int:
        """Write what waits, and what goes `beside` it, in one transaction; gives how many heartbeats it wrote.

        What cannot be written goes on waiting; without anything to write there is no transaction.
        """
        with self._lock:
            taken, self._pending = self._pending, {}
        if not taken and beside is None:
            return 0
        try:
            with self._database.writing() as connection:
                note_seen(connection, sorted(taken.items()))
                if beside is not None:
                    beside(connection)
        except BaseException:
            with self._lock:
                self._pending = taken | self._pending
            raise
        return len(taken)
