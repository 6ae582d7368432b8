"""The walks of one connection through lists: each goes on in the version that it began with, for a minute.

Agents of an older service read a list window by window and cannot name a version. A walk begins with a window at
offset 0. The windows after it that the same token reads on the same connection come from the same version, although
others publish newer ones.
"""

import asyncio
import time
from typing import NamedTuple

from gitstore.history.live import LiveProject

# The key of a connection's walks in the scope of its requests; absent without a server.
WALKS = "waypost.walks"
SECONDS = 60.0
# Of one connection; the oldest walk gives way to a newer one. Each keeps a release in memory, mapped once for all.
_MAX_WALKS = 32

# The Authorization header and the path of the list.
WalkKey = tuple[bytes, str]


class _Walk(NamedTuple):
    project: LiveProject
    ends_at: float


class Walks:
    """The walks of one connection, for its own event loop alone."""

    __slots__ = ("_timer", "_walks")

    def __init__(self) -> None:
        self._walks: dict[WalkKey, _Walk] = {}  # by their ends, since all take the same time
        self._timer: asyncio.TimerHandle | None = None

    def follow(self, key: WalkKey, offset: int, current: LiveProject) -> LiveProject:
        """Return the project in the version of the walk; a window at offset 0 begins one in the current version."""
        if offset:
            found = self._walks.get(key)
            return found.project if found and time.monotonic() < found.ends_at else current
        self._walks.pop(key, None)
        if len(self._walks) >= _MAX_WALKS:
            del self._walks[next(iter(self._walks))]
        self._walks[key] = _Walk(current, time.monotonic() + SECONDS)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SECONDS, self._drop_ended)
        return current

    def forget(self, key: WalkKey) -> None:
        """Drop the walk through a list that is gone: the next list of its name may be another's."""
        self._walks.pop(key, None)

    def end(self) -> None:
        """Drop all walks: the connection is closed."""
        self._walks.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _drop_ended(self) -> None:
        """Drop the walks whose time is over, so that a connection that stays open keeps no old version in memory."""
        self._timer, now = None, time.monotonic()
        for key in [key for key, walk in self._walks.items() if walk.ends_at <= now]:
            del self._walks[key]
        if self._walks:
            first = next(iter(self._walks.values()))
            self._timer = asyncio.get_running_loop().call_later(first.ends_at - now, self._drop_ended)
