"""Turns of the calls that hash a password: two at a time in a worker, one of each address, and no endless queue.

The hashes themselves are computed by another process (`hash_process`). But its callers occupy threads, which all other SQL
needs, and their own SQL competes with the event loop for the interpreter. So an address with many calls rests between them,
for the polls of agents.
"""

import time
from collections.abc import Callable
from itertools import count
from typing import ParamSpec, TypeVar

from api.auth.logins.hash_process import HashProcess
from api.auth.logins.passwords import hash_elsewhere, hash_here
from api.errors import Unavailable
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.fair_queue import FairQueue

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE = 2  # one waits for its hash, one for the database
MOST_OF_ONE = 200  # calls of one address that may wait: about twenty seconds
_REST = 1.0  # times the duration of a call, before the next one of its address
_LONGEST_REST = 0.1  # seconds: a call that waited for a lock or a busy core delays the others of its address no longer
MOST = 1_000
_RETRY_SECONDS = 5


class PasswordChecks:
    """The calls of one worker that hash passwords; as a background service, it also moves the hashes to a process."""

    def __init__(self) -> None:
        self._queue = FairQueue(AT_ONCE, _address_of)
        self._numbers = count()
        self._process = HashProcess()

    async def start(self) -> None:
        """Let the hashes be computed by the process, which starts at the first one."""
        hash_elsewhere(self._process)

    async def stop(self) -> None:
        """End the process."""
        hash_here()
        self._process.close()

    async def run(self, address: str | None, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in a thread when it is the turn of the address; 503 `overloaded` if too many wait already."""
        group = address or ""
        if self._queue.count_waiting(group) >= MOST_OF_ONE or self._queue.count_waiting() >= MOST:
            message = "Too many passwords wait to be checked. Try again later."
            raise Unavailable(message, "overloaded", _RETRY_SECONDS)
        async with self._queue.turn(f"{next(self._numbers)} {group}"):
            begun = time.monotonic()
            try:
                return await run_in_thread(work, *args, **kwargs)
            finally:
                if self._queue.count_waiting(group):
                    self._queue.rest(group, min(_REST * (time.monotonic() - begun), _LONGEST_REST))


def _address_of(key: str) -> str:
    return key.partition(" ")[2]
