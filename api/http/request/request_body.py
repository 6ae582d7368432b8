"""The body of a request: received only when a responder asks for it, and never cut short without an error."""

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from api.errors import ApiError, bad_request

AsgiEvent = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiEvent]]
Send = Callable[[AsgiEvent], Awaitable[None]]

CLOSE = (b"connection", b"close")
"""The header field by which a server announces that it closes the connection after the response."""

MIN_RATE = 64 * 1024
"""Bytes a second at which a large body must arrive, in addition to the seconds of every body."""

LINGER_BYTES = 8 * 1024 * 1024
LINGER_SECONDS = 2.0


class RequestBody:
    """The `receive` of one request that may have a body, with a deadline of `seconds`.

    Falcon 4.4.0 waits for the first piece of a body before it routes. Here that piece is always empty and available, so
    that a request can be refused before its body is asked for; a client that sent `Expect: 100-continue` then never sends
    it (https://www.rfc-editor.org/rfc/rfc9110#section-10.1.1). A truncated body raises 400, a late one 408.
    https://github.com/falconry/falcon/blob/4.4.0/falcon/asgi/app.py#L501
    """

    __slots__ = ("_begun", "_complete", "_count", "_is_late", "_receive", "_seconds", "_size")

    def __init__(self, receive: Receive, seconds: float, size: int | None) -> None:
        self._receive = receive
        self._seconds = seconds
        self._size = size
        """Bytes of the body; None if it comes in chunks."""
        self._begun: float | None = None
        self._count = 0
        self._complete = False
        self._is_late = False

    async def __call__(self) -> AsgiEvent:
        """Return the next event of the body; raise ApiError if the body breaks off or is late."""
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

    @property
    def may_outlast_drain(self) -> bool:
        """True if `drain` may leave a part of the body unread, which ends the connection.

        That is a large rest, one that was late already, and any body in chunks that is not read to its end: its size is
        unknown, so a small one that is never read closes the connection too.
        """
        if self._complete:
            return False
        return self._is_late or self._size is None or self._size - self._count > LINGER_BYTES

    async def _receive_in_time(self, begun: float) -> AsgiEvent:
        allowed = self._seconds + self._count / MIN_RATE
        try:
            async with asyncio.timeout(_left(begun + allowed)):
                return await self._receive()
        except TimeoutError as ex:
            self._is_late = True
            seconds = "1 second" if round(allowed) == 1 else f"{allowed:.0f} seconds"
            raise ApiError(408, "body_timeout", f"The body did not arrive within {seconds}. Send it again.") from ex

    async def drain(self, limit: int = LINGER_BYTES, seconds: float = LINGER_SECONDS) -> None:
        """Discard the rest of the body, up to `limit` bytes, after the response was sent.

        A close with unread bytes resets the connection, and the reset may discard the response before the client has read
        it (https://www.rfc-editor.org/rfc/rfc9112#section-9.6).
        """
        until = time.monotonic() + seconds
        with suppress(TimeoutError):
            # Until Python 3.12 asyncio.wait_for, in gunicorn's `receive`, loses a cancellation that meets the arrival of a
            # piece (https://github.com/python/cpython/issues/86296). One deadline for all pieces would never end one in
            # thirty slow clients, so each piece has its own.
            while not self._complete and limit > 0:
                async with asyncio.timeout(_left(until)):
                    event = await self._receive()
                self._complete = not event.get("more_body", False)
                limit -= len(event.get("body", b""))


def _left(until: float) -> float:
    """Return the remaining seconds; raise TimeoutError if there are none."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
