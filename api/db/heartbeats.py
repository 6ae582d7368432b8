"""Heartbeats, buffered in memory and written together, so that 10,000 agents cost one transaction a second.

A transaction writes the oldest ones, a limited number: if 100,000 agents report at once, other writers get their turn.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import islice

from api import logs
from api.db.agent_limit import AgentLimit
from api.db.agents import AgentKey, add_seen, known_agents, note_seen
from api.db.database import Connection, Database
from api.db.earlier_namespaces import times_of_change
from api.db.errors import StateBusy
from api.db.timestamps import Clock, utc_now

MOST_PENDING = 200_000
MOST_AT_ONCE = 10_000  # per transaction
MOST_AGENTS = 100_000  # of a project, unless the settings say otherwise

_log = logs.logger("heartbeats")


class Heartbeats:
    """The pending heartbeats of one worker; only the latest of each agent counts."""

    def __init__(self, database: Database, clock: Clock = utc_now, limit: AgentLimit | None = None) -> None:
        self._database = database
        self._clock = clock
        self.limit = limit or AgentLimit(MOST_AGENTS)
        self._lock = threading.Lock()
        self._pending: dict[AgentKey, datetime] = {}

    @property
    def pending(self) -> int:
        """The number of pending heartbeats."""
        return len(self._pending)

    def note(self, key: AgentKey, at: datetime | None = None) -> None:
        """Record a heartbeat at a time, or now. StateBusy if too many are pending, so that a broken disk does not fill the memory."""
        with self._lock:
            if key not in self._pending and len(self._pending) >= MOST_PENDING:
                raise StateBusy("Too many heartbeats are pending. Try again in a moment.")
            self._pending[key] = at or self._clock()

    def drop(self, key: AgentKey) -> None:
        """Drop the pending heartbeat of an agent."""
        with self._lock:
            self._pending.pop(key, None)

    def flush(self, also: Callable[[Connection], None] | None = None) -> int:
        """Write the oldest pending heartbeats, and call `also`, in one transaction; return the number of heartbeats.

        If the write fails, they stay pending; with nothing to write there is no transaction.
        """
        with self._lock:
            taken = self._take()
        if not taken and also is None:
            return 0
        try:
            with self._database.writing() as connection:
                self._write(connection, taken)
                if also is not None:
                    also(connection)
        except BaseException:
            with self._lock:
                self._pending = taken | self._pending
            raise
        return len(taken)

    def _take(self) -> dict[AgentKey, datetime]:
        """Take the heartbeats that have waited longest; a later one of the same agent did not change its place."""
        if len(self._pending) <= MOST_AT_ONCE:
            taken, self._pending = self._pending, {}
            return taken
        return {key: self._pending.pop(key) for key in list(islice(self._pending, MOST_AT_ONCE))}

    def _write(self, connection: Connection, taken: Mapping[AgentKey, datetime]) -> None:
        """Write heartbeats; those of agents of a deleted namespace, and of new ones beyond the limit, are dropped."""
        changed = times_of_change(connection, min(taken.values())) if taken else {}
        seen = sorted(each for each in taken.items() if not _is_before(each, changed))
        if not note_seen(connection, seen):
            self._add(connection, seen)

    def _add(self, connection: Connection, seen: Sequence[tuple[AgentKey, datetime]]) -> None:
        known = known_agents(connection, [key for key, _ in seen])
        new: dict[tuple[str, str], list[tuple[AgentKey, datetime]]] = {}
        for key, moment in seen:
            if key not in known:
                new.setdefault(key[:2], []).append((key, moment))
        for (namespace, project), wanted in new.items():
            taken = self.limit.take(connection, wanted[0][0], len(wanted))
            add_seen(connection, wanted[:taken])
            if taken < len(wanted):
                refused = len(wanted) - taken
                _log.warning("agents_refused", namespace=namespace, project=project, agents=refused)


def _is_before(heartbeat: tuple[AgentKey, datetime], changed: Mapping[str, datetime]) -> bool:
    """Tell whether a heartbeat is of an earlier namespace of the name."""
    key, moment = heartbeat
    return key.namespace in changed and moment < changed[key.namespace]
