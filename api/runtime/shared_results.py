"""Results that many requests ask for at once: computed once, and cached up to a number of bytes."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from content.cache import LruCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SharedResults(Generic[K, V]):
    """The results of one worker by key, at most `size` bytes of them; used in its event loop only.

    A result that is larger by itself goes to the requests that wait for it, and is not cached. Neither are errors.
    """

    def __init__(self, size: int, weigh: Callable[[V], int]) -> None:
        self._size = size
        self._weigh = weigh
        self._cached: LruCache[K, V] = LruCache(size, weigh)
        self._computing: dict[K, asyncio.Task[V]] = {}

    async def get(self, key: K, compute: Callable[[], Awaitable[V]]) -> V:
        """Return the result of a key; it is computed to its end, even if the request that began it is cancelled."""
        found = self._cached.find(key)
        if found is not None:
            return found
        task = self._computing.get(key)
        if task is None:
            task = self._computing[key] = asyncio.create_task(self._compute(key, compute))
            task.add_done_callback(_mark_handled)
        return await asyncio.shield(task)

    async def _compute(self, key: K, compute: Callable[[], Awaitable[V]]) -> V:
        try:
            found = await compute()
        finally:
            del self._computing[key]
        if self._weigh(found) <= self._size:
            self._cached.put(key, found)
        return found


def _mark_handled(task: "asyncio.Task[V]") -> None:
    """Read the exception of a task; the requests that waited for it may all be gone."""
    if not task.cancelled():
        task.exception()
