"""One client's connection: gunicorn's, plus deadlines, limits, turns, the service's error shape and the fast path.

While one client holds half a request open, gunicorn's ASGI worker serves the others, but it never closes that connection,
nor one whose client stops reading, it accepts connections without a limit, and it drops the responses of a client that
has closed its side. No setting changes that. This class overrides two methods that gunicorn does not document;
`gunicorn_names` checks them at the start.
"""

import asyncio
import time
from collections.abc import Iterable
from contextlib import suppress
from email.utils import formatdate
from functools import lru_cache
from typing import Any

from gunicorn.asgi.protocol import ASGIProtocol

from api.http.fast_path import ONE_PIECE, PreparedResponse
from api.http.request.client_presence import PRESENCE, ClientPresence
from api.http.request.request_body import CLOSE, AsgiEvent, Receive, Send
from api.http.walks import WALKS, Walks
from api.server.backlog import Backlog
from api.server.error_response import error_response
from api.server.turns import PREPARED
from api.server.write_deadline import WriteDeadline

MAX_HELD = 64 * 1024 * 1024
"""Bytes of requests sent ahead that one worker holds back; one connection holds what a single read may bring (256 KB)."""

_VERSION = (1, 1)
_SMALL = 16 * 1024
"""Bytes of a body that are joined to its head: the copy costs less than a second piece in the system call."""


class Connection(ASGIProtocol):
    """A connection that is closed when its client is too slow."""

    idle = True
    """True unless a request is being answered; the headers of one may be incomplete."""

    def __init__(self, worker: Any) -> None:
        super().__init__(worker)
        self.app = self._call
        self._header_deadline: asyncio.TimerHandle | None = None
        self._write_deadline: WriteDeadline | None = None
        self._drained: asyncio.Future[None] | None = None
        """Done when the client reads again; None while it reads."""
        self._says_close = False
        self._backlog = Backlog()
        self._presence = ClientPresence()
        self._held_bytes = 0
        self._is_held = False
        """True while nothing is read, because the backlog is not empty."""
        self._had_chunked = False
        self._is_behind_chunked = False
        """True for a request after a chunked body: the parser, which alone knows where that ends, may hold all of it."""
        self._turn = 1
        """Prepared responses that are left of this connection's turn; a request that was not sent ahead needs none."""
        self._walks = Walks()

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start the deadline for the headers of the first request; refuse a connection beyond the limit.

        For later requests gunicorn's keep-alive timer runs until their headers are complete. For the first one it never
        starts: https://github.com/benoitc/gunicorn/pull/3735
        """
        settings, loop = self.worker.settings, self.worker.loop
        if len(self.worker.open) >= settings.connections:
            self._refuse(transport)
            return
        self.worker.open.add(self)
        super().connection_made(transport)
        self._write_deadline = WriteDeadline(loop, transport, settings.write_timeout)
        self._header_deadline = loop.call_later(settings.header_timeout, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all deadlines, end the walks, and wake the response that waits for the client."""
        self.worker.open.discard(self)
        self._backlog.clear()
        self._count_held(0)
        self._walks.end()
        self._stop_header_deadline()
        self._wake()
        super().connection_lost(exc)

    def close_if_idle(self) -> None:
        """Close the connection unless a request is being answered; its response announces the end and closes it."""
        if self.idle:
            self.transport.close()

    def pause_writing(self) -> None:
        """Start the deadline of a client that reads more slowly than the service writes."""
        super().pause_writing()
        if self._drained is None:
            self._drained = self.worker.loop.create_future()
        if self._write_deadline is not None:
            self._write_deadline.start()

    def resume_writing(self) -> None:
        """Stop the deadline: the client has caught up."""
        self._wake()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Give the parser one request; hold back what follows it, and read no more until that has been answered."""
        backlog = self._backlog
        if backlog.pass_whole(data):
            self._turn = 1
            super().data_received(data)
            return
        if backlog.is_open:
            self._turn = 1
        backlog.add(data)
        self._feed()

    def eof_received(self) -> bool:
        """Keep the connection while a whole request is not answered: its client has closed its own side only."""
        self._presence.leave()
        if self._had_chunked and self._backlog.is_open:
            self._close_after_held()
            return True
        return not self._backlog.is_open and not self._is_cut_off()

    async def _serve_http_request(self, request: Any, sockname: Any, peername: Any) -> bool:
        """Answer a request, and tell whether the connection stays open. A plain read needs no task and no application.

        Override of the method that starts gunicorn's task for the application:
        https://github.com/benoitc/gunicorn/blob/27.0.1/gunicorn/asgi/protocol.py#L1456
        """
        self.idle = False
        self._stop_header_deadline()
        try:
            if not self._turn:
                await self.worker.turns.wait()
                self._turn = PREPARED
            prepared = self._find_prepared(request)
            if prepared is None:
                stays = await self._call_application(request, sockname, peername)
            else:
                self._turn -= 1
                stays = not (self.worker.ending or not self.cfg.keepalive or bool(request.should_close()))
                await self._send(prepared, closes=not stays)
            if self._drained is not None:
                await self._drained
            return stays and self._read_next()
        finally:
            self.idle = True

    async def _call_application(self, request: Any, sockname: Any, peername: Any) -> bool:
        self._turn = 0
        if not self._receive_body(request):
            return False
        stays = await super()._serve_http_request(request, sockname, peername)
        return bool(stays) and not self._says_close

    def _receive_body(self, request: Any) -> bool:
        """Let the body pass to the parser; False if the client has closed its side before the end of the body."""
        self._is_behind_chunked = self._had_chunked
        self._had_chunked = self._had_chunked or request.chunked
        if request.chunked or request.content_length:
            self._backlog.expect_body(None if request.chunked else request.content_length)
            self._feed()
        if self._presence.is_gone and self._is_cut_off():
            self.transport.close()
            return False
        return True

    def _is_cut_off(self) -> bool:
        """Tell whether the stream breaks off within a body if it ends here; the time limit of bodies ends the others."""
        return self._backlog.is_cut_off and not self._is_behind_chunked

    def _read_next(self) -> bool:
        """Go on to the next request; False if there can be none."""
        self._backlog.open()
        if self._backlog:
            self._feed()
        if not (self._presence.is_gone and self._backlog.is_open):
            return True
        if self._had_chunked:
            self._close_after_held()
        return self._had_chunked

    def _close_after_held(self) -> None:
        """Close the connection unless the parser holds another request: gunicorn goes on to that before this is called."""
        self.worker.loop.call_soon(self.close_if_idle)

    def _feed(self) -> None:
        """Pass to the parser what it may get; stop reading while bytes are left, as nothing bounds them otherwise."""
        taken = self._backlog.take()
        if taken:
            super().data_received(taken)
        self._count_held(len(self._backlog))
        if bool(self._backlog) != self._is_held:
            self._is_held = not self._is_held
            (self.transport.pause_reading if self._is_held else self.transport.resume_reading)()

    def _send_error_response(self, status: int, _message: str, extra_headers: Iterable[tuple[str, str]] = ()) -> None:
        """Refuse a request that cannot reach the application, in the application's shape and without a quotation of it.

        Override of the method that sends the parser's message as plain text; gunicorn then closes the connection:
        https://github.com/benoitc/gunicorn/blob/27.0.1/gunicorn/asgi/protocol.py#L2278
        """
        self.worker.asgi.collector.counters.add_rejected(status)
        with suppress(OSError, RuntimeError):  # the client has gone
            self.transport.write(error_response(status, tuple(extra_headers)))

    async def _call(self, scope: AsgiEvent, receive: Receive, send: Send) -> None:
        """Call the application; while the worker ends, add `Connection: close` to the head of each response.

        A server announces the last response of a connection (https://www.rfc-editor.org/rfc/rfc9112#section-9.6); without
        that, a client may send its next request into the closing connection. gunicorn 27.0.1 passes the header on, also
        that of the application, but does not act on it: `_serve_http_request` does.
        """

        async def send_head_or_body(event: AsgiEvent) -> None:
            if event["type"] == "http.response.start":
                fields = event.get("headers", ())
                if self.worker.ending and CLOSE not in fields:
                    event = {**event, "headers": [*fields, CLOSE]}
                self._says_close = CLOSE in event.get("headers", ())
            await send(event)

        scope[PRESENCE] = self._presence
        scope[WALKS] = self._walks
        await self.worker.asgi(scope, receive, send_head_or_body if scope["type"] == "http" else send)

    def _count_held(self, size: int) -> None:
        """Count the bytes that all connections hold back; abort this one if they are too many."""
        self.worker.held += size - self._held_bytes
        self._held_bytes = size
        if size and self.worker.held > MAX_HELD:
            self.transport.abort()

    def _find_prepared(self, request: Any) -> PreparedResponse | None:
        fast_path = self.worker.asgi.fast_path
        if request.method != "GET":
            return self._find_heartbeat(request) if request.method == "PATCH" else None
        if fast_path is None or request.version != _VERSION:
            return None
        try:
            prepared: PreparedResponse | None = fast_path.answer(
                request.path, request.raw_path, request.query, request.headers_bytes, self._walks
            )
        except OSError:  # the application meets it too, and reports it
            return None
        return prepared

    def _find_heartbeat(self, request: Any) -> PreparedResponse | None:
        heartbeats = self.worker.asgi.fast_heartbeats
        if heartbeats is None or request.version != _VERSION:
            return None
        prepared: PreparedResponse | None = None
        with suppress(OSError):  # the application meets it too, and reports it
            prepared = heartbeats.answer(request.path, request.raw_path, request.query, request.headers_bytes)
        return prepared

    async def _send(self, prepared: PreparedResponse, *, closes: bool) -> None:
        """Send a prepared response, and wait while the client does not read."""
        answer = prepared.answer
        last = b"connection: close\r\n\r\n" if closes else b"\r\n"
        head = b"".join((answer.head, prepared.line, _date_line(int(time.time())), last))
        with suppress(OSError, RuntimeError):  # the client has gone
            if answer.size <= _SMALL:
                self.transport.write(b"".join((head, *answer.parts)))
            elif answer.size <= ONE_PIECE:
                self.transport.writelines((head, *answer.parts))
            else:
                await self._send_pieces(head, answer.reply.pieces())

    async def _send_pieces(self, head: bytes, pieces: Iterable[bytes | memoryview]) -> None:
        self.transport.write(head)
        for piece in pieces:
            if self._drained is not None:
                await self._drained
            if self.transport.is_closing():
                return
            self.transport.write(piece)

    def _refuse(self, transport: asyncio.Transport) -> None:
        """Refuse a connection before gunicorn knows it, so that no task and no count of it remains."""
        self.worker.asgi.collector.counters.add_rejected(503)
        transport.set_protocol(asyncio.Protocol())
        transport.write(error_response(503, (("Retry-After", "1"),)))
        transport.close()

    def _stop_header_deadline(self) -> None:
        if self._header_deadline is not None:
            self._header_deadline.cancel()
            self._header_deadline = None

    def _wake(self) -> None:
        if self._write_deadline is not None:
            self._write_deadline.stop()
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)
        self._drained = None


@lru_cache(1)
def _date_line(second: int) -> bytes:
    """Return the Date header of a second since 1970; all responses of that second share it."""
    return f"date: {formatdate(second, usegmt=True)}\r\n".encode()
