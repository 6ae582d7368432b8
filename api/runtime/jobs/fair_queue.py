"""Turns of jobs for the processes of one worker: in rotation by namespace, so that none waits for another's many jobs.

Jobs with one key run one at a time, in the order of their arrival. A namespace may have several keys; it gets the last
free place only if none of its jobs runs. A group that rests gets none, and its place is free for others.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple


class _Waiting(NamedTuple):
    key: str
    turn: asyncio.Future[None]


class FairQueue:
    """Jobs that wait for one of `places`; `group_of` returns the namespace of a key. Used from one event loop."""

    def __init__(self, places: int, group_of: Callable[[str], str] = str) -> None:
        self._free = places
        self._group_of = group_of
        self._running: Counter[str] = Counter()  # jobs by group
        self._running_keys: set[str] = set()
        self._waiting: dict[str, deque[_Waiting]] = {}  # by group; the first one is next
        self._resting: set[str] = set()

    def count_waiting(self, group: str | None = None) -> int:
        """Return the number of jobs that wait for a place: those of a group, or all."""
        lines = self._waiting.values() if group is None else [self._waiting.get(group, ())]
        return sum(map(len, lines))

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Wait for a place, and hold it inside."""
        waiting = _Waiting(key, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(self._group_of(key), deque()).append(waiting)
        self._start()
        try:
            await waiting.turn
        except asyncio.CancelledError:
            self._give_up(waiting)
            raise
        try:
            yield
        finally:
            self._end(key)

    def rest(self, group: str, seconds: float) -> None:
        """Give no place to a group for some seconds; called by a job before its turn ends."""
        self._resting.add(group)
        asyncio.get_running_loop().call_later(seconds, self._end_rest, group)

    def _end_rest(self, group: str) -> None:
        self._resting.discard(group)
        self._start()

    def _start(self) -> None:
        """Start all jobs whose turn has come."""
        while found := self._next():
            group, waiting = found
            self._waiting[group].remove(waiting)
            self._move_back(group)
            self._free -= 1
            self._running[group] += 1
            self._running_keys.add(waiting.key)
            waiting.turn.set_result(None)

    def _next(self) -> tuple[str, _Waiting] | None:
        for group, line in self._waiting.items():
            if group not in self._resting and self._free > (1 if self._running[group] else 0):
                ready = (each for each in line if each.key not in self._running_keys and not each.turn.done())
                waiting = next(ready, None)
                if waiting:
                    return group, waiting
        return None

    def _give_up(self, waiting: _Waiting) -> None:
        """Take a cancelled job out of the queue, or end its turn if that has just come."""
        group = self._group_of(waiting.key)
        line = self._waiting.get(group, deque())
        if waiting in line:
            line.remove(waiting)
            if not line:
                del self._waiting[group]
        elif waiting.turn.done() and not waiting.turn.cancelled():
            self._end(waiting.key)

    def _end(self, key: str) -> None:
        group = self._group_of(key)
        self._free += 1
        self._running[group] -= 1
        if not self._running[group]:
            del self._running[group]
        self._running_keys.discard(key)
        self._move_back(group)
        self._start()

    def _move_back(self, group: str) -> None:
        """Put a group behind all others that wait."""
        line = self._waiting.pop(group, None)
        if line:
            self._waiting[group] = line
