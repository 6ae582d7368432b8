"""Heartbeats, buffered in memory and written together, so that 10,000 agents cost one transaction a second.

Many at once are written in laps: in the order of the table, a part each second, and each agent once a lap. Neighbours
share a page, so 100,000 agents that report every 30 seconds cost a tenth of the bytes that they would in the order of
arrival; and other writers get their turn.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from api import logs
from api.db.agents.agent_limit import AgentLimit
from api.db.agents.agents import AgentKey, add_seen, known_agents, note_seen
from api.db.database import Connection, Database
from api.db.earlier_namespaces import times_of_change
from api.db.errors import StateBusy
from api.db.timestamps import Clock, utc_now

MOST_PENDING = 200_000
AT_ONCE = 1_000
"""Heartbeats that are written together in any order."""
LAP_ROUNDS = 20
"""Transactions that a lap takes at most; with one a second, the times on disk stay well within those of an online agent."""
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
        self._lap: list[AgentKey] = []  # the rest of it, last first
        self._share = AT_ONCE

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
        """Write pending heartbeats, all or the next part of a lap, and call `also`, in one transaction; return the number of heartbeats.

        If the write fails, they stay pending; with nothing to write there is no transaction.
        """
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
        """Take all pending heartbeats, or the next part of a lap if they are many."""
        if len(self._pending) > AT_ONCE and not self._lap:
            self._lap = sorted(self._copy_keys(), reverse=True)
            self._share = max(AT_ONCE, -(-len(self._lap) // LAP_ROUNDS))
        taken = dict[AgentKey, datetime]()
        with self._lock:
            if len(self._pending) <= AT_ONCE:
                taken, self._pending, self._lap = self._pending, {}, []
            while self._lap and len(taken) < self._share:
                key = self._lap.pop()
                if key in self._pending:
                    taken[key] = self._pending.pop(key)
        return taken

    def _copy_keys(self) -> list[AgentKey]:
        with self._lock:
            return list(self._pending)

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
                self.limit.forget_removed(key for key, _ in wanted[taken:])
                refused = len(wanted) - taken
                _log.warning("agents_refused", namespace=namespace, project=project, agents=refused)


def _is_before(heartbeat: tuple[AgentKey, datetime], changed: Mapping[str, datetime]) -> bool:
    """Tell whether a heartbeat is of an earlier namespace of the name."""
    key, moment = heartbeat
    return key.namespace in changed and moment < changed[key.namespace]
