"""How far a publish has reached the agents: measured from what they have reported, or waited for.

Agents report to any worker, so what they have reported is looked up in the database: once a second for all who wait for
the same project, and only while somebody waits.
"""

import asyncio
import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from api import logs
from api.background import in_thread
from api.collaborators import ProjectVersion
from api.state.agents import Agent, Standing
from api.state.fleet import Fleet, is_online
from api.state.moment import dump_time
from gitstore.errors import StoreError

DEFAULT_WAIT = 30
LONGEST_WAIT = 300
"""Seconds that a publish may wait for the agents."""
_LOOK_INTERVAL = 1.0
_SHARES = (50, 95, 100)
"""Percent of the agents for which is told how long a publish took to reach them."""

_Standings = Mapping[str, Standing]

_log = logs.logger("convergence")


class Waited(NamedTuple):
    """What came of waiting: agents that were online, those of them that have the publish, and whether that is all."""

    agents: int
    current: int
    converged: bool
    seconds: float

    def wire(self) -> dict[str, Any]:
        """The JSON of it."""
        return {**self._asdict(), "seconds": round(self.seconds, 3)}


class Convergence:
    """Those of one worker who wait until agents have a publish; a companion of the service."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._looks: dict[tuple[str, str], asyncio.Task[_Standings | None]] = {}
        self._ending = False

    async def start(self) -> None:
        """Nothing goes on until somebody waits."""

    async def stop(self) -> None:
        """End."""
        self.release()
        await asyncio.gather(*self._looks.values(), return_exceptions=True)

    def release(self) -> None:
        """Answer all who wait with how far the agents are, and let nobody wait from now on: the worker shall end."""
        self._ending = True
        for look in self._looks.values():
            look.cancel()

    async def wait(self, namespace: str, project: str, number: int, seconds: float) -> Waited:
        """Return when all agents that are online now run publish `number` or a later one, or after so many seconds.

        A database that cannot be read is asked again; while it never could be, nobody is known to have converged.
        """
        clock = asyncio.get_running_loop().time
        begin = clock()
        first = found = await self._find(namespace, project)
        while True:
            waited = _count(first, found, number, clock() - begin)
            left = begin + seconds - clock()
            if waited.converged or left <= 0 or self._ending:
                return waited
            later = await self._look(namespace, project, left)
            found = found if later is None else later
            first = found if first is None else first

    async def _look(self, namespace: str, project: str, seconds: float) -> _Standings | None:
        """What the next look of anybody finds, or None where that takes longer than so many seconds."""
        place = (namespace, project)
        if place not in self._looks:
            self._looks[place] = asyncio.create_task(self._find_later(namespace, project))
        look = self._looks[place]
        await asyncio.wait({look}, timeout=seconds)
        return look.result() if look.done() and not look.cancelled() else None

    async def _find_later(self, namespace: str, project: str) -> _Standings | None:
        try:
            await asyncio.sleep(_LOOK_INTERVAL)
        finally:
            del self._looks[namespace, project]
        return await self._find(namespace, project)

    async def _find(self, namespace: str, project: str) -> _Standings | None:
        try:
            return await in_thread(self._fleet.standings, namespace, project)
        except (StoreError, OSError) as ex:
            _log.warning("standings_failed", namespace=namespace, project=project, exc_info=ex)
            return None


def measure(agents: Iterable[Agent], served: ProjectVersion, now: datetime) -> dict[str, Any]:
    """How far the last publish has reached the agents that are online, and how long that took."""
    published = datetime.fromtimestamp(served.time, UTC)
    online = [agent for agent in agents if is_online(agent, now)]
    took = sorted(_seconds(agent, published) for agent in online if _has(agent, served.number))
    return {
        "version": served.version,
        "publishNumber": served.number,
        "publishedAt": dump_time(published),
        "agents": len(online),
        "current": len(took),
        "behind": len(online) - len(took),
        "reachedAfter": {f"p{share}": _time_of_share(took, len(online), share) for share in _SHARES},
    }


def _count(first: _Standings | None, found: _Standings | None, number: int, seconds: float) -> Waited:
    """Of those that are online in `first`, how many `found` shows with the publish; None: nobody could look yet."""
    if first is None or found is None:
        return Waited(0, 0, converged=False, seconds=seconds)
    online = [name for name, standing in first.items() if standing.online]
    numbers = [found[name].number for name in online if name in found]
    current = sum(at is not None and at >= number for at in numbers)
    return Waited(len(online), current, current == len(online), seconds)


def _has(agent: Agent, number: int) -> bool:
    """Tell whether an agent runs a publish or a later one, and reports no error."""
    return agent.publish_number is not None and agent.publish_number >= number and not agent.failed


def _seconds(agent: Agent, published: datetime) -> float:
    """How long an agent took; one that came after the publish is measured from when it came."""
    loaded = agent.loaded_at or agent.last_seen_at
    return round(max(0.0, (loaded - max(published, agent.created_at)).total_seconds()), 3)


def _time_of_share(took: list[float], agents: int, share: int) -> float | None:
    """The seconds after which this share of the agents had it; None while they have not, or where there are none."""
    needed = math.ceil(agents * share / 100)
    return took[needed - 1] if 0 < needed <= len(took) else None
