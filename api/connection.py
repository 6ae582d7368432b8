"""One client's connection: gunicorn's, with the deadlines, the cap and the error shape that it lacks.

gunicorn's asgi worker answers others quickly while a client holds half a request open, but never closes
that one; nor does it close a connection whose client stops reading, and it counts connections without
a limit. Each of these has a test against the real server.
"""

import asyncio
import fcntl
import json
import socket
import struct
import termios
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from gunicorn.asgi.protocol import ASGIProtocol

from api.express import Told

LEAST_RATE = 512
"""Bytes a second that a client must take while an answer waits to be sent."""

_VERSION = (1, 1)
_SMALL = 16 * 1024
"""Bytes of a body that are sent with its head in one piece: copying them costs less than another piece would."""
_ONE_PIECE = 512 * 1024
"""Bytes of a body that are handed over at once, all pieces of it for one call of the system."""

_COUNT = struct.Struct("i")
"""How the kernel tells a number of bytes."""

_SENTENCES: dict[int, tuple[str, str]] = {
    400: ("malformed_request", "The request is not well-formed HTTP."),
    414: ("uri_too_long", "The request line is longer than this service reads."),
    431: ("headers_too_large", "The request's headers are more or longer than this service reads."),
    500: ("internal_error", "Something failed that should not have; the log tells more."),
    501: ("not_implemented", "The request's transfer coding is not one that this service knows."),
    503: ("overloaded", "The service holds as many connections as it may; try again shortly."),
}
_OTHER = ("refused", "The request is refused.")


class Connection(ASGIProtocol):
    """A connection that ends when its client is too slow."""

    _deadline: asyncio.TimerHandle | None = None
    _stall: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start the clock for the headers of the first request; refuse a connection beyond the cap.

        Later requests on the connection have gunicorn's keep-alive timer, which runs until their headers
        are complete.
        """
        super().connection_made(transport)
        self.worker.open.add(self)
        if self.worker.nr_conns > self.cfg.worker_connections:
            self._send_error_response(503, "", (("Retry-After", "1"),))
            self._close_transport()
            return
        self._deadline = self.worker.loop.call_later(self.worker.settings.header_timeout, self._headers_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all clocks."""
        self.worker.open.discard(self)
        self._stop_deadline()
        self._stop_stall()
        super().connection_lost(exc)

    @property
    def idle(self) -> bool:
        """True while the connection waits for a request."""
        return bool(self._awaiting_request)

    def close_if_idle(self) -> None:
        """Close the connection if it waits for a request; one that is being answered closes after its answer."""
        if self.idle:
            self._keepalive_timeout()

    def pause_writing(self) -> None:
        """Start to watch a client that reads more slowly than it is written to."""
        super().pause_writing()
        if self._stall is None:
            self._watch_stall()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._stop_stall()
        super().resume_writing()

    def _on_headers_complete(self) -> Any:
        self._stop_deadline()
        return super()._on_headers_complete()

    def _will_close(self, request: Any, response_requires_close: bool) -> bool:  # noqa: FBT001 - gunicorn's call
        """Tell whether the connection ends with this answer, which then says so."""
        return self.worker.ending or bool(super()._will_close(request, response_requires_close))

    async def _serve_http_request(self, request: Any, sockname: Any, peername: Any) -> bool:
        """Answer a request, and tell whether the connection stays; what is plain needs no task and no application."""
        told = self._plain_answer(request)
        if told is None:
            return bool(await super()._serve_http_request(request, sockname, peername))
        closes = self._will_close(request, response_requires_close=False)
        if not self._closed:
            await self._send(told, closes=closes)
        return not closes

    def _plain_answer(self, request: Any) -> Told | None:
        express = self.app.express
        if express is None or request.method != "GET" or request.version != _VERSION:
            return None
        try:
            told: Told | None = express.answer(request.path, request.raw_path, request.query, request.headers_bytes)
        except OSError:  # the framework meets it too, and says so
            return None
        return told

    async def _send(self, told: Told, *, closes: bool) -> None:
        """Send an answer, and wait while the client takes no more; one that has sent several requests waits its turn."""
        answer = told.answer
        last = b"connection: close\r\n\r\n" if closes else b"\r\n"
        head = b"".join((answer.head, told.line, _date_line(int(time.time())), last))
        if answer.size <= _SMALL:
            self._safe_write(b"".join((head, *answer.reply.body)))
        elif answer.size <= _ONE_PIECE:
            with suppress(OSError, RuntimeError):  # the client has gone
                self.transport.writelines((head, *answer.reply.body))
        else:
            self._safe_write(head)
            for piece in answer.reply.pieces():
                if self._closed:
                    return
                self._safe_write(piece)
                await self._flow_control.drain()
        if self._flow_control.write_paused:
            await self._flow_control.drain()
        if self._callback_parser.remaining():
            await asyncio.sleep(0)

    def _headers_late(self) -> None:
        self._deadline = None
        self._keepalive_timeout()  # closes, and wakes the task that waits for a request

    def _watch_stall(self) -> None:
        seconds = self.worker.settings.write_timeout
        waiting = self._untaken()
        self._stall = self.worker.loop.call_later(seconds, self._check_stall, waiting, LEAST_RATE * seconds)

    def _check_stall(self, waiting: int, least: int) -> None:
        self._stall = None
        if waiting - self._untaken() < least:
            self._reset()
        else:
            self._watch_stall()

    def _untaken(self) -> int:
        """The bytes of answers that the client has not taken: those that wait here, and those that the kernel holds.

        The kernel holds megabytes, and takes more only when about a third of them are gone: until then what waits here
        stands still, however steadily the client reads.
        """
        waiting = int(self.transport.get_write_buffer_size())
        with suppress(OSError, ValueError):  # a kernel that does not tell, or a socket that is closed already
            number = self.transport.get_extra_info("socket").fileno()
            waiting += _COUNT.unpack(fcntl.ioctl(number, termios.TIOCOUTQ, bytes(_COUNT.size)))[0]
        return waiting

    def _reset(self) -> None:
        """End the connection at once; without the linger option the kernel would go on holding what is unsent."""
        option = struct.pack("ii", 1, 0)
        self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
        self.transport.abort()

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _stop_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _send_error_response(self, status: int, _message: str, extra_headers: Iterable[tuple[str, str]] = ()) -> None:
        """Refuse what never reached the application, in the application's shape and without quoting the request."""
        self.app.meter.tally.add_unread(status)
        self._safe_write(refusal(status, tuple(extra_headers)))


@lru_cache(1)
def _date_line(second: int) -> bytes:
    """The header of a second since 1970, made once for all answers in it."""
    return f"date: {formatdate(second, usegmt=True)}\r\n".encode()


def refusal(status: int, headers: Sequence[tuple[str, str]] = ()) -> bytes:
    """The bytes of a whole HTTP/1.1 answer that refuses a request and closes the connection."""
    code, message = _SENTENCES.get(status, _OTHER)
    body = json.dumps({"error": code, "message": message}).encode()
    lines = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        *(f"{name}: {value}" for name, value in headers),
        "Connection: close",
    )
    return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body
