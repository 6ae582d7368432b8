"""A worker process of the server: gunicorn's ASGI worker with a custom main loop, whose end fails no request."""

import asyncio
import os
from typing import Any, ClassVar

from gunicorn.arbiter import Arbiter
from gunicorn.asgi.lifespan import LifespanManager
from gunicorn.workers.gasgi import ASGIWorker

from api.runtime.jobs.memory import return_large_blocks
from api.server.connection import Connection
from api.server.turns import Turns
from api.settings import Settings

BACKLOG = 2048
"""Connections that may wait to be accepted; the system may allow fewer."""

DRAIN_SECONDS = 0.5
"""Seconds for which an ending worker still accepts requests on open connections."""
_STEP_SECONDS = 0.02
_HEARTBEAT_SECONDS = 1.0
_QUICK_SECONDS = 1.0
"""Seconds for cancelled tasks to end after a quick stop."""


class Worker(ASGIWorker):
    """gunicorn's ASGI worker, with a main loop of its own.

    gunicorn asks worker classes to override `run`. Its own loop looks for a stop once a second, and accepts connections
    until then; it waits for idle connections as long as for busy ones.
    https://github.com/benoitc/gunicorn/blob/27.0.1/gunicorn/workers/base.py#L81
    """

    settings: ClassVar[Settings]
    open: set[Connection]
    turns: Turns
    held = 0
    """Bytes of requests that the connections hold back until earlier ones are answered."""
    ending = False
    """True after a signal to stop; each response then announces that its connection closes."""
    _quick = False
    """True after a signal to stop without waiting for clients."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.open = set()
        self._stop = asyncio.Event()

    def init_signals(self) -> None:
        """Install no handlers yet; `_serve` does when the loop runs, and until then a signal to stop ends the process.

        gunicorn calls this before it loads the application. uvloop 0.23 loses a signal that arrives before its loop runs,
        because it opens the pipe for signals only then (`_setup_or_resume_signals`):
        https://github.com/MagicStack/uvloop/blob/v0.23.0/uvloop/loop.pyx#L282
        """

    def handle_exit_signal(self) -> None:
        """Stop gracefully (SIGTERM)."""
        self.ending = True
        self._stop.set()

    def handle_quit_signal(self) -> None:
        """Stop without waiting for clients (SIGINT, SIGQUIT)."""
        self._quick = True
        self.handle_exit_signal()

    def run(self) -> None:
        """Serve until a signal to stop."""
        try:
            self.loop.run_until_complete(self._serve_until_stopped())
        except Exception:  # as in gunicorn: the worker exits, and the master starts another
            self.log.exception("Worker exception")
        finally:
            self._close_loop()

    async def _serve_until_stopped(self) -> None:
        super().init_signals()
        return_large_blocks()
        self.turns = Turns(self.loop)
        lifespan = await self._start_application()
        servers = [await self._listen(listener) for listener in self.sockets]
        heartbeats = self.loop.create_task(self._send_heartbeats())
        await self._stop.wait()
        self.log.info("Worker shutting down...")
        for server in servers:
            server.close()
        await self._end(lifespan)
        heartbeats.cancel()

    async def _start_application(self) -> LifespanManager:
        """Start the application; if that fails, stop the whole service."""
        lifespan = LifespanManager(self.asgi, self.log, self.state)
        try:
            await lifespan.startup()
        except Exception as ex:
            self.log.error("ASGI lifespan startup failed: %s", ex)  # noqa: TRY400 - as in gunicorn
            raise SystemExit(Arbiter.WORKER_BOOT_ERROR) from ex
        return lifespan

    async def _listen(self, listener: Any) -> asyncio.AbstractServer:
        # asyncio calls listen() again, with a backlog of 100 by default, and so replaces gunicorn's `backlog`
        # (https://docs.python.org/3/library/asyncio-eventloop.html#asyncio.loop.create_server). Linux drops connections
        # beyond the backlog, and their clients try again after one second (https://www.rfc-editor.org/rfc/rfc6298#section-2).
        server: asyncio.AbstractServer = await self.loop.create_server(
            lambda: Connection(self), sock=listener.sock, backlog=BACKLOG
        )
        self.log.info("ASGI server listening on %s", listener)
        return server

    async def _send_heartbeats(self) -> None:
        """Report to the master once a second: it kills a worker that is silent for `HEARTBEAT_SECONDS`."""
        while True:
            self.notify()
            if self.ppid != os.getppid():
                self.log.info("Parent changed, shutting down: %s", self)
                self.handle_exit_signal()
            await asyncio.sleep(_HEARTBEAT_SECONDS)

    async def _end(self, lifespan: LifespanManager) -> None:
        """End the waiting polls, then idle connections, then busy ones, then the application."""
        for hook in self.asgi.shutdown_hooks:
            hook()
        await self._await_busy()
        await self._await_closed()
        if not self._quick:
            try:
                await lifespan.shutdown()
            except Exception as ex:  # noqa: BLE001 - as in gunicorn: the worker exits all the same
                self.log.error("ASGI lifespan shutdown error: %s", ex)  # noqa: TRY400 - as in gunicorn

    async def _await_busy(self) -> None:
        """Give clients of idle connections time for a request that is on its way.

        Its response announces the end of the connection. The close of an idle connection may cross with its next request,
        which a client may send again only if it is idempotent (https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1).
        """
        until = self.loop.time() + DRAIN_SECONDS
        while not self._quick and self.loop.time() < until and any(each.idle for each in self.open):  # noqa: ASYNC110 - no event reports that the last one is busy
            await asyncio.sleep(_STEP_SECONDS)

    async def _await_closed(self) -> None:
        """Wait until the last requests are answered, and close each idle connection."""
        until = self.loop.time() + self.cfg.graceful_timeout
        if self.open and not self._quick:
            self.log.info("Waiting for %d connections to finish...", len(self.open))
        while self.open and not self._quick and self.loop.time() < until:
            for connection in list(self.open):
                connection.close_if_idle()
            await asyncio.sleep(_STEP_SECONDS)
        if self.open and not self._quick:
            self.log.warning("Forcing close of %d connections", len(self.open))

    def _close_loop(self) -> None:
        """Cancel the remaining tasks, wait for them, and close the loop."""
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks, timeout=_QUICK_SECONDS if self._quick else None))
        self.loop.close()
