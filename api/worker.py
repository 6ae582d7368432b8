"""A worker process of the server: gunicorn's asgi worker, with our connections, and an end that fails no request."""

import asyncio
from typing import Any, ClassVar

import uvloop
from gunicorn.workers import gasgi

from api.connection import Connection
from api.settings import Settings

BACKLOG = 2048
"""Clients that may wait to be accepted; the system may allow fewer."""

PARTING_SECONDS = 0.5
"""How long an ending worker still takes requests on connections that are open."""
_STEP_SECONDS = 0.02


class Loop(uvloop.Loop):
    """uvloop's loop, whose servers would let only 100 clients wait to be accepted: one more would wait a second to try again."""

    async def create_server(self, *args: Any, **kwargs: Any) -> Any:
        """A server with room for a crowd that comes at once, as after a reload."""
        return await super().create_server(*args, **{"backlog": BACKLOG, **kwargs})


class Worker(gasgi.ASGIWorker):
    """gunicorn's asgi worker, with our connections, and an end that fails no request."""

    settings: ClassVar[Settings]
    ending = False
    """True once a stop was asked for; `alive`, by which gunicorn ends connections without a word, lasts a little longer."""
    _serving: asyncio.Task[None] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.open: set[Connection] = set()

    def _setup_event_loop(self) -> None:
        self.loop = Loop()
        asyncio.set_event_loop(self.loop)

    def init_process(self) -> None:
        """Run the worker; it makes its connections by the name that is bound here, after the fork."""
        gasgi.ASGIProtocol = Connection
        super().init_process()

    def init_signals(self) -> None:
        """Nothing yet: uvloop loses a signal that comes before its loop runs; a stop ends the process until then."""

    def handle_exit_signal(self) -> None:
        """Begin to end now; gunicorn's loop would look only once a second, and take connections meanwhile."""
        if self._serving is None or len(self.servers) < len(self.sockets):
            super().handle_exit_signal()
        elif not self.ending:
            self.ending = True
            self._serving.cancel()  # ends the loop's sleep, which leads it to `_shutdown`

    async def _serve(self) -> None:
        super().init_signals()
        self._serving = asyncio.current_task()
        await super()._serve()

    async def _shutdown(self) -> None:
        """End: nothing new, no waiting polls, then no idle connections, then what still goes on."""
        beating = self.loop.create_task(self._beat())
        try:
            for server in self.servers:
                server.close()
            for leave in self.asgi.leaving:
                leave()
            await self._part()
            self.alive = False
            await super()._shutdown()
        finally:
            beating.cancel()

    async def _part(self) -> None:
        """Give clients of idle connections the time to send what is on its way, then close those that are idle still.

        Whatever is answered from now on ends its connection by saying so, which no client can miss;
        closing an idle one can cross with its next request. gunicorn would wait for each until the graceful timeout.
        """
        until = self.loop.time() + PARTING_SECONDS
        while not self._quick_shutdown and self.loop.time() < until and any(each.idle for each in self.open):  # noqa: ASYNC110 - nothing tells when the last one becomes busy
            await asyncio.sleep(_STEP_SECONDS)
        for connection in list(self.open):
            connection.close_if_idle()

    async def _beat(self) -> None:
        """Tell the master that the end goes on; it would kill a worker that is silent for the heartbeat's time."""
        while True:
            self.notify()
            await asyncio.sleep(1)
