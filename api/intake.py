"""How a request's body comes in: only when a responder asks, and never cut short in silence."""

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from api.errors import ApiError, bad_request

Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]

LEAST_RATE = 64 * 1024
"""Bytes a second that a large body must come in with, beyond the seconds that any body has."""

LINGER_BYTES = 8 * 1024 * 1024
LINGER_SECONDS = 2.0


class Intake:
    """The `receive` of one request that may have a body, with a deadline of `seconds`.

    Falcon waits for the first piece of a body before it routes; here that piece is empty and always
    there, so that a request is refused before its body is asked for (a client that sent
    `Expect: 100-continue` then never sends it). A body that ends early raises 400 instead of
    looking complete, one that is too slow raises 408.
    """

    __slots__ = ("_begun", "_complete", "_count", "_receive", "_seconds")

    def __init__(self, receive: Receive, seconds: float) -> None:
        self._receive = receive
        self._seconds = seconds
        self._begun: float | None = None
        self._count = 0
        self._complete = False

    async def __call__(self) -> Event:
        """The next event of the body; raises ApiError where the body breaks off or is late."""
        if self._begun is None:
            self._begun = time.monotonic()
            return {"type": "http.request", "body": b"", "more_body": True}
        if self._complete:
            return await self._receive()
        event = await self._receive_in_time(self._begun)
        self._complete = not event.get("more_body", False)
        self._count += len(event.get("body", b""))
        if event["type"] == "http.disconnect":
            raise bad_request("The body broke off before its end.", "truncated_body")
        return event

    async def _receive_in_time(self, begun: float) -> Event:
        allowed = self._seconds + self._count / LEAST_RATE
        try:
            async with asyncio.timeout(_left(begun + allowed)):
                return await self._receive()
        except TimeoutError as ex:
            raise ApiError(408, "body_timeout", f"The body did not arrive within {allowed:.0f} seconds.") from ex

    async def drain(self, limit: int = LINGER_BYTES, seconds: float = LINGER_SECONDS) -> None:
        """Throw away what is left of the body, up to `limit` bytes, after the answer was sent.

        Closing a connection that still has bytes coming in resets it, and the reset can destroy the
        answer before the client has read it.
        """
        until = time.monotonic() + seconds
        with suppress(TimeoutError):
            # A deadline that expires just as a piece arrives is swallowed by asyncio.wait_for below (until Python 3.12),
            # so each piece has its own: else one in thirty who trickle would never be let go.
            while not self._complete and limit > 0:
                async with asyncio.timeout(_left(until)):
                    event = await self._receive()
                self._complete = not event.get("more_body", False)
                limit -= len(event.get("body", b""))


def _left(until: float) -> float:
    """The seconds that are left; raises TimeoutError where there are none."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
