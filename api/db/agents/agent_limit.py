"""The limit of agents per project, for one worker: new names are refused above it, known agents go on.

Counting a hundred thousand rows takes milliseconds, so that new names are counted only now and then: a count allows a
small share of the free places for a few seconds. Several workers may exceed the limit by less than that share.
"""

import threading
import time
from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection

from api.db.agents.agents import AgentKey, count_agents
from api.db.errors import TooManyAgents

FULL_SECONDS = 10.0  # a full project is remembered for so long, and counted again for a new name after a second
_RECOUNT_SECONDS = 1.0
_ALLOWANCE_SECONDS = 5.0
_ALLOWANCE_SHARE = 64
_MAX_PROJECTS = 10_000  # remembered at once
_MAX_AGENTS = 100_000  # of full projects, remembered at once


class _Count(NamedTuple):
    """The places that are left without another count, until a time; since another time the project is full."""

    left: int
    until: float
    full_at: float


class AgentLimit:
    """The limit, and the recent counts of one worker."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str], _Count] = {}
        self._known: dict[AgentKey, None] = {}
        """Agents of full projects that were looked up."""

    def is_full(self, key: AgentKey) -> bool:
        """Tell whether the project of an agent was full a moment ago, and the agent is not known; without the database."""
        found = self._counts.get(key[:2])
        return found is not None and time.monotonic() - found.full_at < FULL_SECONDS and key not in self._known

    def remember(self, key: AgentKey) -> None:
        """Remember an agent that exists, so that it is not looked up again."""
        with self._lock:
            if len(self._known) >= _MAX_AGENTS:
                self._known.clear()
            self._known[key] = None

    def forget(self, key: AgentKey) -> None:
        """Count the project again, since an agent was removed."""
        with self._lock:
            self._known.pop(key, None)
            self._counts.pop(key[:2], None)

    def forget_removed(self, keys: Iterable[AgentKey]) -> None:
        """Look these agents up again: a write did not find them, so they are new, or another worker has removed them."""
        with self._lock:
            for key in keys:
                self._known.pop(key, None)

    def take(self, connection: Connection, key: AgentKey, wanted: int) -> int:
        """Return how many of so many new agents have a place in the project of `key`, and take it."""
        now = time.monotonic()
        with self._lock:
            known = self._counts.get(key[:2], _Count(0, 0.0, float("-inf")))
            if known.left >= wanted and now < known.until:
                self._counts[key[:2]] = known._replace(left=known.left - wanted)
                return wanted
            if now - known.full_at < _RECOUNT_SECONDS:
                return 0
        free = max(0, self.most - count_agents(connection, key.namespace, key.project))
        taken = min(wanted, free)
        left = (free - taken) // _ALLOWANCE_SHARE
        full_at = now if taken == free else float("-inf")
        with self._lock:
            if len(self._counts) >= _MAX_PROJECTS:
                self._counts.clear()
            self._counts[key[:2]] = _Count(left, now + _ALLOWANCE_SECONDS, full_at)
        return taken

    def refuse(self, key: AgentKey) -> TooManyAgents:
        """Return the error of a new agent without a place."""
        return TooManyAgents(
            f"The project {key.project} has {self.most:,} agents, the maximum, so '{key.name}' is not added. "
            "Remove agents that are gone, or raise the setting agents_per_project."
        )
