"""Calls that many requests make at once, joined: while one batch of a key is done, the next one gathers."""

import asyncio
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

from api.runtime.jobs.background import run_in_thread

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
R = TypeVar("R")

_MOST = 500  # values of a batch


class JoinedCalls(Generic[K, V, R]):
    """The calls of one worker by key: `work` gets the values of a batch, and returns a result for each.

    A key has at most one batch at a time, and so one thread, whatever the number of callers. An error of a batch is that of
    each of its callers. Used in one event loop only.
    """

    def __init__(self, work: Callable[[K, Sequence[V]], Sequence[R]]) -> None:
        self._work = work
        self._waiting: dict[K, list[tuple[V, asyncio.Future[R]]]] = {}
        self._tasks = set[asyncio.Task[None]]()

    async def call(self, key: K, value: V) -> R:
        """Return the result of a value; a batch is done to its end, even if a caller is cancelled."""
        future: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        if key not in self._waiting:
            self._waiting[key] = []
            task = asyncio.create_task(self._drain(key))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._waiting[key].append((value, future))
        return await future

    async def _drain(self, key: K) -> None:
        """Do one batch after another, until none waits."""
        while batch := self._waiting[key][:_MOST]:
            del self._waiting[key][:_MOST]
            await self._do(key, batch)
        del self._waiting[key]

    async def _do(self, key: K, batch: Sequence[tuple[V, asyncio.Future[R]]]) -> None:
        try:
            results = await run_in_thread(self._work, key, [value for value, _ in batch])
        except Exception as ex:  # noqa: BLE001 - whatever it is, the callers raise it
            for _, future in batch:
                if not future.done():
                    future.set_exception(ex)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():  # its caller was cancelled
                future.set_result(result)
