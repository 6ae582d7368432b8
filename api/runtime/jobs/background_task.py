"""Background services that are one task, from the start of a worker to its stop."""

import asyncio
from abc import ABC, abstractmethod
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


class TaskService(ABC):
    """A background service that is one task; each states how it runs."""

    def __init__(self) -> None:
        self._background_task = BackgroundTask(self._run)

    async def start(self) -> None:
        """Start the task."""
        self._background_task.begin()

    async def stop(self) -> None:
        """Stop the task."""
        await self._background_task.end()

    @abstractmethod
    async def _run(self) -> None:
        """Run until cancelled."""


def _log_end(task: asyncio.Task[None]) -> None:
    """Log the exception that ended a task: no one else asks for it before the worker stops."""
    if not task.cancelled() and task.exception() is not None:
        _log.error("background_task_ended", exc_info=task.exception())
