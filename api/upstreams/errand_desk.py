"""The desk at which publishes hand over their errands: the background does each in a process of its own.

It is on one worker of a node, the one that syncs. Where that ends in the middle, the publish hands its errand over again.
An errand whose caller has gone is not begun any more, and a sync of such a caller ends: neither holds up the others.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from weakref import WeakValueDictionary

from api import logs
from api.data.served_data import ServedData
from api.runtime.jobs.job_process import JobTimeout, ProcessLost
from gitstore.errors import StoreError
from gitstore.pushes.pushed_files import TokenFinder
from gitstore.store.store import Store
from gitstore.upstream.errands import MOST_BYTES, SOCKET, Errand, dump_answer, listen, load_errand
from gitstore.wire.client.remote_errors import RemoteAway, RemoteError

_MOST_AT_ONCE = 3
_LINE_SECONDS = 10.0
_SYNC_WAIT = 30.0  # for a sync that runs already

Run = Callable[[str, Callable[[], object]], Awaitable[None]]

_log = logs.logger("upstreams")


class _CallerGone(Exception):
    """The caller has closed its connection before the answer."""


class ErrandDesk:
    """The errands of one node that other processes wait for; `run` runs a job of a kind in a process."""

    def __init__(self, store: Store, data: ServedData, find_token: TokenFinder, run: Run) -> None:
        self._find_token = find_token
        self._store = store
        self._data = data
        self._run = run
        self._turns = asyncio.Semaphore(_MOST_AT_ONCE)
        self._own = WeakValueDictionary[str, asyncio.Lock]()  # of namespaces: each takes one turn at a time
        self._server: asyncio.Server | None = None
        self._socket = store.directory.repositories / SOCKET
        self._answers = set[asyncio.Task[None]]()

    async def open(self) -> None:
        """Take errands from now on; nothing is done while the desk is open. Raises OSError.

        The socket may have gone with its folder, such as while that was restored: then it is made again, but never in
        the place of a lost folder, which may have been replaced since the last look at it.
        """
        if (self._server is not None and self._socket.exists()) or self._data.check() is not None:
            return
        self._close_server()
        listener = listen(self._socket.parent)
        self._server = await asyncio.start_unix_server(self._accept, sock=listener, limit=MOST_BYTES)

    def _close_server(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def close(self) -> None:
        """Take none any more; those that run are ended, and handed over to the next worker."""
        self._close_server()
        for task in self._answers:
            task.cancel()
        await asyncio.gather(*self._answers, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            errand = load_errand(await asyncio.wait_for(reader.readline(), _LINE_SECONDS))
            fault = await self._do_for_caller(errand, reader)
            writer.write(dump_answer(fault))
            await writer.drain()
        except _CallerGone:
            _log.info("errand_dropped")
        except ProcessLost:  # without an answer, it is handed over again
            _log.warning("errand_lost")
        except (ValueError, TypeError, OSError, TimeoutError) as ex:
            _log.warning("errand_not_taken", error=type(ex).__name__)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _do_for_caller(self, errand: Errand, reader: asyncio.StreamReader) -> RemoteError | None:
        """Do an errand in its turn, while its caller waits for it; a push that has begun is done to its end."""
        begun = asyncio.Event()
        gone = asyncio.ensure_future(reader.read(1))
        work = asyncio.ensure_future(self._take_turn(errand, begun))
        try:
            await asyncio.wait({gone, work}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done() and not (errand.new and begun.is_set()):
                raise _CallerGone
            return await work
        finally:
            for each in (gone, work):
                each.cancel()
            await asyncio.gather(gone, work, return_exceptions=True)

    async def _take_turn(self, errand: Errand, begun: asyncio.Event) -> RemoteError | None:
        own = self._own.setdefault(errand.namespace, asyncio.Lock())
        async with own, self._turns:
            begun.set()
            return await self._do(errand)

    async def _do(self, errand: Errand) -> RemoteError | None:
        upstreams = self._store.upstreams
        work: Callable[[], object]
        if errand.new:
            work = partial(upstreams.push, errand.namespace, errand.old, errand.new)
        else:
            work = partial(
                upstreams.sync, errand.namespace, wait=_SYNC_WAIT, find_token=self._find_token, only_release=True
            )
        try:
            await self._run("publish" if errand.new else "fetch", work)
        except RemoteError as ex:
            return ex
        except JobTimeout:
            return errand.late()
        except (StoreError, OSError) as ex:
            return RemoteAway(f"This node failed to talk to the upstream: {ex}")
        except ProcessLost:
            raise
        except Exception:  # noqa: BLE001 - without an answer, the publish would hand it over again and again
            _log.exception("errand_failed", namespace=errand.namespace)
            return errand.late() if errand.new else RemoteAway("This node failed to talk to the upstream; see its log.")
        return None
