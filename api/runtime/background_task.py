"""The task of a background service, from its start to its stop."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from api import logs

_log = logs.logger("background")


class BackgroundTask:
    """A task that runs a coroutine function from `begin` to `end`; `end` without `begin` does nothing."""

    def __init__(self, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._run = run
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start the task on the running loop."""
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(_log_end)

    async def end(self) -> None:
        """Cancel the task and wait for its end; its exceptions are ignored."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)


def _log_end(task: asyncio.Task[None]) -> None:
    """Log the exception that ended a task: no one else asks for it before the worker stops."""
    if not task.cancelled() and task.exception() is not None:
        _log.error("background_task_ended", exc_info=task.exception())
