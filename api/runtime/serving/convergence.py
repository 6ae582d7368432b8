"""The convergence of agents on a publish: measure it from their reports, or wait for it.

Agents report to any worker, so their reports are read from the database: once a second for all requests that wait for
the same project, and only while there are any.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from api import logs
from api.db.agents.agents import AgentProgress
from api.db.agents.fleet import Fleet
from api.db.timestamps import dump_time
from api.interfaces import ProjectVersion
from api.runtime.jobs.background import run_in_thread
from gitstore.errors import StoreError

DEFAULT_WAIT = 30  # seconds that a publish waits for the agents
MAX_WAIT = 300  # seconds
_POLL_INTERVAL = 1.0
_SHARES = (50, 95, 100)  # percentiles of the agents' times to load a publish
_POINTS = 24  # of the curve of a publish: enough for a small chart, whatever the number of agents

_ProgressByAgent = Mapping[str, AgentProgress]

_log = logs.logger("convergence")


class VersionHistory(Protocol):
    """The published versions of a project, as of now."""

    def same_history(self, namespace: str, project: str, reported: Iterable[tuple[str, int]]) -> set[str]:
        """Return the commits that have the reported number in the project's history; may read from disk."""


class ConvergenceResult(NamedTuple):
    """The result of waiting: the number of agents online, of those with the publish, and whether both are equal."""

    agents: int
    current: int
    converged: bool
    seconds: float

    def wire(self) -> dict[str, Any]:
        """Return the JSON object."""
        return {**self._asdict(), "seconds": round(self.seconds, 3)}


class Convergence:
    """The requests of one worker that wait until agents have a publish; a background service."""

    def __init__(self, fleet: Fleet, versions: VersionHistory) -> None:
        self._fleet = fleet
        self._versions = versions
        self._polls: dict[tuple[str, str], asyncio.Task[_ProgressByAgent | None]] = {}
        self._ending = False

    async def start(self) -> None:
        """Do nothing: polling begins with the first waiting request."""

    async def stop(self) -> None:
        """End all waits."""
        self.release()
        await asyncio.gather(*self._polls.values(), return_exceptions=True)

    def release(self) -> None:
        """Answer all waiting requests with the current progress, and let none wait, since the worker is stopping."""
        self._ending = True
        for poll in self._polls.values():
            poll.cancel()

    async def wait(
        self, namespace: str, project: str, number: int, seconds: float, ended: "asyncio.Future[None]"
    ) -> ConvergenceResult:
        """Return when all agents that are online now run publish `number` or a later one, or after `seconds`.

        The wait also ends when `ended` is done.

        A failed read of the database is retried; before the first successful one, no agent counts as converged.
        """
        clock = asyncio.get_running_loop().time
        begin = clock()
        first = found = await self._find(namespace, project)
        while True:
            waited = _count(first, found, number, clock() - begin)
            left = begin + seconds - clock()
            if waited.converged or left <= 0 or self._ending or ended.done():
                return waited
            later = await self._await_next(namespace, project, left, ended)
            found = found if later is None else later
            first = found if first is None else first

    async def _await_next(
        self, namespace: str, project: str, seconds: float, ended: "asyncio.Future[None]"
    ) -> _ProgressByAgent | None:
        """Return the result of the next shared read, or None after `seconds` or if the wait has ended."""
        key = (namespace, project)
        if key not in self._polls:
            self._polls[key] = asyncio.create_task(self._find_later(namespace, project))
        poll = self._polls[key]
        either: set[asyncio.Future[Any]] = {poll, ended}
        await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return poll.result() if poll.done() and not poll.cancelled() else None

    async def _find_later(self, namespace: str, project: str) -> _ProgressByAgent | None:
        try:
            await asyncio.sleep(_POLL_INTERVAL)
        finally:
            del self._polls[namespace, project]
        return await self._find(namespace, project)

    async def _find(self, namespace: str, project: str) -> _ProgressByAgent | None:
        try:
            return await run_in_thread(self._list_progress, namespace, project)
        except (StoreError, OSError) as ex:
            _log.warning("progress_not_read", namespace=namespace, project=project, exc_info=ex)
            return None

    def _list_progress(self, namespace: str, project: str) -> _ProgressByAgent:
        """Read the progress of the agents; numbers of another history, such as a rewound one, do not count."""
        found = self._fleet.list_progress(namespace, project)
        reported = {(each.commit, each.number) for each in found.values() if each.commit and each.number}
        known = self._versions.same_history(namespace, project, reported)
        return {
            name: each if each.commit in known or each.number is None else each._replace(number=None)
            for name, each in found.items()
        }


def measure(
    fleet: Fleet, commits: Collection[str], namespace: str, project: str, served: ProjectVersion, online: int
) -> dict[str, Any]:
    """Return the progress of so many online agents to the last publish, which these commits have, and their times."""
    published = datetime.fromtimestamp(served.time, UTC)
    shares = {share: -(-online * share // 100) for share in _SHARES}
    curve = {-(-online * point // _POINTS) for point in range(1, _POINTS + 1)}
    places = sorted({*shares.values(), *curve})
    found = fleet.measure_loads(namespace, project, sorted(commits), published, places)
    taken = [(seconds, place) for place, seconds in found.seconds.items() if seconds is not None and place in curve]
    return {
        "version": served.version,
        "publishNumber": served.number,
        "publishedAt": dump_time(published),
        "agents": online,
        "current": found.current,
        "behind": max(0, online - found.current),
        "reachedAfter": {f"p{share}": _rounded(found.seconds[place]) for share, place in shares.items()},
        "taken": [{"seconds": round(seconds, 3), "agents": place} for seconds, place in taken if place],
    }


def _count(
    first: _ProgressByAgent | None, found: _ProgressByAgent | None, number: int, seconds: float
) -> ConvergenceResult:
    """Count the agents online in `first`, and those of them with the publish in `found`; None: not read yet."""
    if first is None or found is None:
        return ConvergenceResult(0, 0, converged=False, seconds=seconds)
    online = [name for name, progress in first.items() if progress.online]
    numbers = [found[name].number for name in online if name in found]
    current = sum(at is not None and at >= number for at in numbers)
    return ConvergenceResult(len(online), current, current == len(online), seconds)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
