"""The response to a fetch: the lines before the pack, then the pack from its file, as fast as the client reads it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress

from api import logs
from api.errors import ApiError
from api.runtime.jobs.background import run_in_thread
from gitstore.errors import StoreError
from gitstore.wire.fetch.fetch_pack import MadePack
from gitstore.wire.fetch.pack_file import PackFile
from gitstore.wire.fetch.upload_pack import FetchAnswer
from gitstore.wire.pkt_lines import ERROR_BAND, FLUSH, KEEP_ALIVE, band_lines

KEEP_ALIVE_SECONDS = 5.0
_ATTEMPTS = 3  # to open a kept pack that another process removes

_log = logs.logger("git")


class PackStream(AsyncIterator[bytes]):
    """The pieces of a response, for the framework to send; `make` has the pack made in another process.

    `check` raises ApiError for a caller whose access ended while the pack was made: nothing of it goes out.
    """

    def __init__(
        self,
        answer: FetchAnswer,
        make: Callable[[], Awaitable[MadePack]],
        check: Callable[[], Awaitable[None]],
    ) -> None:
        self._answer = answer
        self._make = make
        self._check = check
        self._pieces = self._write()

    async def __anext__(self) -> bytes:
        return await anext(self._pieces)

    async def close(self) -> None:
        """Close the file; the framework calls this at the end, however the response ended."""
        await self._pieces.aclose()

    async def _write(self) -> AsyncGenerator[bytes, None]:
        yield self._answer.head
        if self._answer.order is None:
            return
        opening = asyncio.ensure_future(self._open())
        try:
            while not opening.done():
                await asyncio.wait({opening}, timeout=KEEP_ALIVE_SECONDS)
                if not opening.done() and self._answer.line_bytes:
                    yield KEEP_ALIVE
            if (failure := self._failure(opening)) is not None:
                yield failure
                return
            file = opening.result()
            while piece := await run_in_thread(file.read):
                yield piece
            yield file.ending
        finally:
            opening.add_done_callback(_close)

    async def _open(self) -> PackFile:
        file = await self._open_pack()
        try:
            await self._check()
        except BaseException:
            file.close()
            raise
        return file

    async def _open_pack(self) -> PackFile:
        for _ in range(_ATTEMPTS - 1):
            with suppress(FileNotFoundError):
                return await run_in_thread(PackFile, await self._make(), self._answer.line_bytes)
        return await run_in_thread(PackFile, await self._make(), self._answer.line_bytes)

    def _failure(self, opening: "asyncio.Future[PackFile]") -> bytes | None:
        """Return the lines that tell the client of a failure; without bands, the response breaks off."""
        ex = opening.exception()
        if ex is None:
            return None
        if not isinstance(ex, ApiError):
            _log.error("fetch_failed", exc_info=ex)
        if not self._answer.line_bytes:
            raise ex
        is_known = isinstance(ex, (StoreError, ApiError))
        message = str(ex) if is_known else "The pack cannot be made; the log of the service has the reason."
        return b"".join(band_lines(ERROR_BAND, f"{message}\n".encode())) + FLUSH


def _close(opening: "asyncio.Future[PackFile]") -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result().close()
