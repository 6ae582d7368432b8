"""A small LRU cache in memory, for values that never change for their key."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def _count_one(_: object) -> int:
    return 1


class LruCache(Generic[K, V]):
    """The values of the last `size` keys. Two threads that miss at the same time both compute, and get equal values."""

    def __init__(self, size: int, weigh: Callable[[V], int] = _count_one) -> None:
        self._size = size
        self._weigh = weigh
        self._weight = 0
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K, compute: Callable[[], V]) -> V:
        """Return the value of a key; on a miss, compute and keep it."""
        found = self.find(key)
        return self.put(key, compute()) if found is None else found

    def find(self, key: K) -> V | None:
        """Return the value of a key, or None."""
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
            return found

    def put(self, key: K, value: V) -> V:
        """Store the value of a key in place of an earlier one, and return it."""
        with self._lock:
            earlier = self._values.pop(key, None)
            self._weight += self._weigh(value) - (0 if earlier is None else self._weigh(earlier))
            self._values[key] = value
            while self._weight > self._size and len(self._values) > 1:
                self._weight -= self._weigh(self._values.popitem(last=False)[1])
        return value

    def clear(self) -> None:
        """Drop all values."""
        with self._lock:
            self._values.clear()
            self._weight = 0
