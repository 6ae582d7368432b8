"""The pace of a task that looks at everything in rounds: a small share of a core, and still an end of each round."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import ParamSpec, TypeVar

from api.runtime.jobs.background import run_in_thread

STEP_SECONDS = 0.005
"""The processor time of a step, before a rest: the way into a thread and back costs as much as a look at a namespace."""

P = ParamSpec("P")
T = TypeVar("T")


class Pace:
    """The rests in a round after each step, and after the round.

    Rests are `most` times the processor time of their step. They are fewer, down to `least` times, where the rests of a round
    would take more than `longest` seconds: by the time that the last complete round used, and by what is left of this one. In
    the first round, they are `first` times. A round begins no less than `shortest` seconds after the one before it.
    """

    def __init__(self, *, shortest: float, longest: float, most: float, least: float, first: float) -> None:
        self._shortest, self._longest, self._most, self._least = shortest, longest, most, least
        self._rests = first
        self._step = 0.0
        self._used = 0.0
        self.begun = time.monotonic()
        """The start of the round, on the monotonic clock."""

    async def steps(self, find: Callable[[], Sequence[str]], look: Callable[[str], T]) -> AsyncIterator[list[T]]:
        """Look at each of what is found, in steps with a rest after each; yield the findings of a step before its rest."""
        left = list[str]()
        found = await self.run(_begin, find, look, left)
        while True:
            yield found
            await self.rest()
            if not left:
                return
            found = await self.run(_go_on, look, left)

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a step in a thread of this worker, and return its result."""
        return await run_in_thread(self._measure, partial(work, *args, **kwargs))

    async def rest(self) -> None:
        """Rest after a step."""
        step, self._step = self._step, 0.0
        left = self._longest - (time.monotonic() - self.begun)
        least = min(self._least, self._rests) * step
        await asyncio.sleep(max(least, min(self._rests * step, left)))

    async def end_round(self, *, is_complete: bool = True) -> None:
        """Rest until the next round may begin, and begin it."""
        await asyncio.sleep(max(0.0, self._shortest - (time.monotonic() - self.begun)))
        if is_complete and self._used:
            self._rests = max(self._least, min(self._most, self._longest / self._used))
        self._used, self.begun = 0.0, time.monotonic()

    def _measure(self, work: Callable[[], T]) -> T:
        # Of the processor: on a busy machine a round must not take many times as long.
        begun = time.thread_time()
        try:
            return work()
        finally:
            self._step = time.thread_time() - begun
            self._used += self._step


def _begin(find: Callable[[], Sequence[str]], look: Callable[[str], T], left: list[str]) -> list[T]:
    begun = time.thread_time()
    left += reversed(find())
    return _go_on(look, left, begun)


def _go_on(look: Callable[[str], T], left: list[str], begun: float | None = None) -> list[T]:
    """Look at the next ones, and take them from the list."""
    begun, found = time.thread_time() if begun is None else begun, list[T]()
    while left:
        found.append(look(left.pop()))
        if time.thread_time() - begun >= STEP_SECONDS:
            break
    return found
