"""The response to a push: what is checked while it is checked, then the verdicts and the status of each ref."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import BinaryIO

from api import logs
from api.errors import ApiError
from api.runtime.jobs.background import run_in_thread
from gitstore.errors import StoreError
from gitstore.git.quarantine import Quarantine
from gitstore.pushes.receiving import ReceivedPush, Reception
from gitstore.wire.pkt_lines import ERROR_BAND, FLUSH, KEEP_ALIVE, band_lines
from gitstore.wire.push.push_report import BANDS, frame_lines, frame_report

_PROGRESS_SECONDS = 0.25
_KEEP_ALIVE_SECONDS = 5.0
_UNKNOWN = (
    "It is not known whether the push was received: fetch, then push again. The log of the service has the reason."
)

_log = logs.logger("git")


class PushStream:
    """The pieces of a response, for the framework to send; `receive` has the push received in another process.

    `discard` removes its quarantine; it blocks.
    """

    def __init__(
        self, push: ReceivedPush, receive: Callable[[], Awaitable[Reception]], discard: Callable[[], None]
    ) -> None:
        self._push = push
        self._receive = receive
        self._discard = discard
        self._job: asyncio.Future[Reception] | None = None
        self._pieces = self._write()

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Return the pieces."""
        return self._pieces

    async def close(self) -> None:
        """Remove the quarantine as soon as the push is received; the framework calls this, however the response ended."""
        await self._pieces.aclose()
        if self._job is None or self._job.done():
            await run_in_thread(self._discard)
        else:  # the pusher is gone, and what was pushed in full is received all the same
            self._job.add_done_callback(self._discard_later)

    def _discard_later(self, job: "asyncio.Future[Reception]") -> None:
        if not job.cancelled():
            job.exception()  # read, so that it is not reported as lost
        asyncio.get_running_loop().run_in_executor(None, self._discard)

    async def _write(self) -> AsyncGenerator[bytes, None]:
        capabilities = self._push.request.capabilities
        self._job = asyncio.ensure_future(self._receive())
        if BANDS in capabilities:
            async for piece in self._follow(self._job, is_quiet=self._push.request.is_quiet):
                yield piece
        await asyncio.wait({self._job})
        await run_in_thread(self._discard)
        ex = self._job.exception()
        if ex is not None:
            yield self._failure(ex)
        else:
            yield b"".join(frame_report(self._job.result().report, capabilities))

    async def _follow(self, job: "asyncio.Future[Reception]", *, is_quiet: bool) -> AsyncIterator[bytes]:
        """Yield the lines of progress as they are written, and a sign of life where there are none for long."""
        at, silent = 0, 0.0
        while not job.done():
            await asyncio.wait({job}, timeout=_PROGRESS_SECONDS)
            text = b"" if is_quiet else await run_in_thread(_read_on, self._push.quarantine, at)
            at, silent = at + len(text), 0.0 if text else silent + _PROGRESS_SECONDS
            if text:
                yield b"".join(frame_lines(text.decode(errors="replace").splitlines()))
            elif silent >= _KEEP_ALIVE_SECONDS:
                silent = 0.0
                yield KEEP_ALIVE

    def _failure(self, ex: BaseException) -> bytes:
        """Return the line that ends a push of which the result is unknown; without bands, the response breaks off."""
        if not isinstance(ex, ApiError):
            _log.error("push_failed", exc_info=ex)
        if BANDS not in self._push.request.capabilities:
            raise ex
        is_known = isinstance(ex, (StoreError, ApiError))
        message = str(ex) if is_known else _UNKNOWN
        return b"".join(band_lines(ERROR_BAND, f"{message}\n".encode())) + FLUSH


def _read_on(quarantine: Quarantine, at: int) -> bytes:
    """Read the whole lines of progress from a byte on."""
    try:
        with quarantine.progress.open("rb") as file:
            return _whole_lines(file, at)
    except FileNotFoundError:
        return b""


def _whole_lines(file: BinaryIO, at: int) -> bytes:
    file.seek(at)
    data = file.read()
    return data[: data.rfind(b"\n") + 1]
