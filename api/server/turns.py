"""Turns of connections: a client that sends many requests at once gets them answered in turn with all others.

The event loop runs whatever is ready before it accepts the next connection. If every connection answered all requests that
its client has sent ahead, hundreds of such clients would keep a new one waiting for many seconds.
"""

import asyncio
from collections import deque

PREPARED = 16
"""Prepared responses of one turn; a request for the framework is a turn of its own."""

_STARTS = 2
"""Turns that start in one round of the event loop: a few milliseconds of work between two looks at the sockets."""


class Turns:
    """The connections of one worker that have more requests to answer, in the order in which they asked."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_scheduled = False

    async def wait(self) -> None:
        """Wait for the next turn; first come, first served."""
        turn = self._loop.create_future()
        self._waiting.append(turn)
        self._schedule()
        await turn

    def _schedule(self) -> None:
        if not self._is_scheduled and self._waiting:
            self._is_scheduled = True
            self._loop.call_soon(self._start)

    def _start(self) -> None:
        self._is_scheduled = False
        started = 0
        while self._waiting and started < _STARTS:
            turn = self._waiting.popleft()
            if not turn.done():  # its connection has been closed
                turn.set_result(None)
                started += 1
        self._schedule()
