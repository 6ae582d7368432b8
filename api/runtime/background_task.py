"""The task of a background service, from its start to its stop."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class BackgroundTask:
    """A task that runs a coroutine function from `begin` to `end`; `end` without `begin` does nothing."""

    def __init__(self, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._run = run
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start the task on the running loop."""
        self._task = asyncio.create_task(self._run())

    async def end(self) -> None:
        """Cancel the task and wait for its end; its exceptions are ignored."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
