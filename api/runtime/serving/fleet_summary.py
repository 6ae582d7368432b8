"""The counts of a project's agents and the convergence of its last publish, measured once for many pages of agents.

They depend on all agents of a project, a page does not. A large fleet is therefore counted at most every few seconds,
and the time of the count is shown; a small one is counted for each request. For a new publish only the agents that run it
are read: it changes no other count.
"""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from api.db.agents.agents import Agent, VersionCount
from api.db.agents.fleet import AgentCounts, Fleet
from api.interfaces import ProjectVersion
from api.runtime.serving.convergence import VersionHistory, measure

SMALL = 1_000
"""Agents that are counted for each request."""
VALID_SECONDS = 5.0
_MOST_PROJECTS = 1_000  # remembered at once

_Reported = tuple[str, int]


@dataclass(frozen=True, slots=True)
class FleetSummary:
    """The counts and the convergence at a time; `history` has the reported commits of the served version's history."""

    counted_at: datetime
    total: int
    failing: int
    versions: tuple[VersionCount, ...]
    convergence: dict[str, Any]
    looked_up: frozenset[_Reported]
    history: frozenset[str]


class _Counted(NamedTuple):
    counts: AgentCounts
    at: datetime
    until: float


class _Entry(NamedTuple):
    version: str
    counted: _Counted
    summary: FleetSummary


class FleetSummaries:
    """The summaries of one worker. All calls block: run them in threads."""

    def __init__(self, fleet: Fleet, versions: VersionHistory) -> None:
        self._fleet = fleet
        self._versions = versions
        self._guard = threading.Lock()
        self._locks: dict[tuple[str, str], threading.Lock] = {}
        self._entries: dict[tuple[str, str], _Entry] = {}

    def find(self, namespace: str, project: str, served: ProjectVersion) -> FleetSummary:
        """Return the summary of a project; of several calls at once, one measures a large fleet."""
        key = (namespace, project)
        known = self._find_valid(key, served.version)
        if known is not None:
            return known
        with self._lock(key):
            return self._find_valid(key, served.version) or self._measure(key, served)

    def find_history(
        self, namespace: str, project: str, summary: FleetSummary, shown: Iterable[Agent]
    ) -> frozenset[str]:
        """Return the commits of the history of a summary and of shown agents; a look-up only for those it does not know."""
        others = reported_of(shown) - summary.looked_up
        return summary.history | (self._versions.same_history(namespace, project, others) if others else set())

    def _find_valid(self, key: tuple[str, str], version: str) -> FleetSummary | None:
        found = self._entries.get(key)
        is_valid = found is not None and found.version == version and time.monotonic() < found.counted.until
        return found.summary if found is not None and is_valid else None

    def _count(self, key: tuple[str, str]) -> _Counted:
        """Count all agents, unless that was done a moment ago for another version."""
        found = self._entries.get(key)
        if found is not None and time.monotonic() < found.counted.until:
            return found.counted
        now = self._fleet.clock()
        return _Counted(self._fleet.count(*key), now, time.monotonic() + VALID_SECONDS)

    def _lock(self, key: tuple[str, str]) -> threading.Lock:
        with self._guard:
            if key not in self._locks and len(self._locks) >= _MOST_PROJECTS:
                self._locks.clear()
                self._entries.clear()
            return self._locks.setdefault(key, threading.Lock())

    def _measure(self, key: tuple[str, str], served: ProjectVersion) -> FleetSummary:
        counted = self._count(key)
        counts = counted.counts
        reported = reported_of(counts.versions) | {(served.version, served.number)}
        others = reported - {(served.version, served.number)}
        history = frozenset({served.version, *(self._versions.same_history(*key, others) if others else ())})
        newest = {commit for commit, number in reported if number >= served.number and commit in history}
        convergence = measure(self._fleet, newest, *key, served, counts.online)
        summary = FleetSummary(
            counted.at,
            counts.total,
            counts.failing,
            tuple(counts.versions),
            convergence,
            frozenset(reported),
            history,
        )
        if counts.total > SMALL:
            self._entries[key] = _Entry(served.version, counted, summary)
        return summary


def reported_of(found: Iterable[Agent | VersionCount]) -> set[_Reported]:
    """Return the publishes, by SHA and number, that agents reported."""
    return {(each.commit, each.publish_number) for each in found if each.commit and each.publish_number}
