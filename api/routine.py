"""What a companion of the service does all the while: one task, from the companion's start to its stop."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class Routine:
    """Runs a coroutine function from `begin` to `end`; to end what never began does nothing."""

    def __init__(self, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._run = run
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin, on the running loop."""
        self._task = asyncio.create_task(self._run())

    async def end(self) -> None:
        """Cancel it, and wait until it is over; what it raised then is nobody's affair any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
