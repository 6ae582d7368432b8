"""The pace of a task that looks at everything in rounds: a small share of a core, however much there is to look at."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

from api.runtime.jobs.background import run_in_thread

P = ParamSpec("P")
T = TypeVar("T")


class Pace:
    """The rests in a round after each step, and after the round.

    Rests are `most` times the processor time of their step, or fewer where a round with them would take more than
    `longest` seconds by the time that the last one used. In the first round, they are `first` times. A round begins no
    less than `shortest` seconds after the one before it.
    """

    def __init__(self, *, shortest: float, longest: float, most: float, first: float) -> None:
        self._shortest, self._longest, self._most = shortest, longest, most
        self._rests = first
        self._step = 0.0
        self._used = 0.0
        self.begun = time.monotonic()
        """The start of the round, on the monotonic clock."""

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a step in a thread of this worker, and return its result."""
        # Of the processor: on a busy machine a round must not take many times as long.
        found, self._step = await run_in_thread(_measure, partial(work, *args, **kwargs))
        self._used += self._step
        return found

    async def rest(self) -> None:
        """Rest after a step."""
        step, self._step = self._step, 0.0
        await asyncio.sleep(self._rests * step)

    async def end_round(self) -> None:
        """Rest until the next round may begin, and begin it."""
        await asyncio.sleep(max(0.0, self._shortest - (time.monotonic() - self.begun)))
        if self._used:
            self._rests = min(self._most, self._longest / self._used)
        self._used, self.begun = 0.0, time.monotonic()


def _measure(work: Callable[[], T]) -> tuple[T, float]:
    begun = time.thread_time()
    return work(), time.thread_time() - begun
