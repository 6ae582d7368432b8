"""The response to a push: progress, the report, the words for a failure, and the end of its quarantine."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from api.errors import Forbidden
from api.resources.git import push_stream
from api.resources.git.push_stream import PushStream
from gitstore.errors import Busy
from gitstore.git.quarantine import Quarantine
from gitstore.git.repository import Author
from gitstore.pushes.push import Pusher
from gitstore.pushes.receiving import ReceivedPush, Reception
from gitstore.wire.pkt_lines import ERROR_BAND, FLUSH, KEEP_ALIVE, band_lines
from gitstore.wire.push.push_report import BANDS, REPORTING, PushReport, RefStatus, frame_lines, frame_report
from gitstore.wire.push.push_request import PushRequest
from tests.service import wait_until

REPORT = PushReport((RefStatus("refs/heads/release"),), lines=("site: version 2",))
UNKNOWN = (
    "It is not known whether the push was received: fetch, then push again. The log of the service has the reason."
)

Receive = Callable[[], Awaitable[Reception]]


class Discarded:
    """Counts the calls to remove the quarantine."""

    def __init__(self) -> None:
        self.count = 0

    def discard(self) -> None:
        """Count a call."""
        self.count += 1


def push(folder: Path, capabilities: frozenset[str] = REPORTING) -> ReceivedPush:
    """Return a push with a quarantine in a folder."""
    return ReceivedPush(
        Quarantine(folder), PushRequest((), capabilities, ()), 0, Pusher(Author("Kim", "kim@acme.example"))
    )


def receiving(result: Reception | BaseException) -> Receive:
    """Return a function that receives a push with this result."""

    async def receive() -> Reception:
        if isinstance(result, BaseException):
            raise result
        return result

    return receive


def response(received: ReceivedPush, receive: Receive, discarded: Discarded) -> bytes:
    """Return the bytes that a client receives."""

    async def read() -> bytes:
        stream = PushStream(received, receive, discarded.discard)
        try:
            return b"".join([piece async for piece in stream])
        finally:
            await stream.close()

    return asyncio.run(read())


def error(message: str) -> bytes:
    """Return the response that has nothing but an error for the pusher's terminal."""
    return b"".join(band_lines(ERROR_BAND, f"{message}\n".encode())) + FLUSH


@pytest.mark.parametrize("capabilities", [REPORTING, REPORTING - {BANDS}], ids=["bands", "no bands"])
def test_the_report_is_sent_after_the_quarantine_is_removed(tmp_path: Path, capabilities: frozenset[str]) -> None:
    discarded = Discarded()
    sent = response(push(tmp_path, capabilities), receiving(Reception(REPORT)), discarded)
    assert sent == b"".join(frame_report(REPORT, capabilities))
    assert discarded.count >= 1


@pytest.mark.parametrize(
    ("ex", "message"),
    [
        (Forbidden("Access ended."), "Access ended."),
        (Busy("The namespace is busy; push again."), "The namespace is busy; push again."),
        (RuntimeError("a secret"), UNKNOWN),
    ],
    ids=["forbidden", "busy", "unknown"],
)
def test_a_failure_is_told_to_the_pusher(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, ex: Exception, message: str
) -> None:
    discarded = Discarded()
    with caplog.at_level(logging.ERROR):
        assert response(push(tmp_path), receiving(ex), discarded) == error(message)
    assert discarded.count >= 1
    assert [record.getMessage() for record in caplog.records] == [] if isinstance(ex, Forbidden) else ["push_failed"]


def test_without_bands_a_failure_breaks_the_response_off(tmp_path: Path) -> None:
    discarded = Discarded()
    with pytest.raises(RuntimeError):
        response(push(tmp_path, REPORTING - {BANDS}), receiving(RuntimeError()), discarded)
    assert discarded.count >= 1


def follow(received: ReceivedPush, folder: Path, pieces: int) -> list[bytes]:
    """Return the first pieces of a push that is received until they were read."""

    async def read() -> list[bytes]:
        is_enough = asyncio.Event()

        async def receive() -> Reception:
            (folder / "progress").write_bytes(b"Checking the objects: 1\nCheck")
            await is_enough.wait()
            return Reception(REPORT)

        stream = PushStream(received, receive, Discarded().discard)
        reading = aiter(stream)
        first = [await anext(reading) for _ in range(pieces)]
        is_enough.set()
        assert [piece async for piece in reading][-1] == b"".join(frame_report(REPORT, REPORTING))
        await stream.close()
        return first

    return asyncio.run(read())


def test_progress_is_sent_by_whole_lines_then_signs_of_life(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_stream, "_PROGRESS_SECONDS", 0.01)
    monkeypatch.setattr(push_stream, "_KEEP_ALIVE_SECONDS", 0.02)
    lines = b"".join(frame_lines(["Checking the objects: 1"]))
    assert follow(push(tmp_path), tmp_path, 3) == [lines, KEEP_ALIVE, KEEP_ALIVE]


def test_a_quiet_push_gets_signs_of_life_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_stream, "_PROGRESS_SECONDS", 0.01)
    monkeypatch.setattr(push_stream, "_KEEP_ALIVE_SECONDS", 0.02)
    assert follow(push(tmp_path, REPORTING | {"quiet"}), tmp_path, 2) == [KEEP_ALIVE, KEEP_ALIVE]


def test_the_quarantine_of_a_pusher_who_left_is_removed_when_the_push_is_received(tmp_path: Path) -> None:
    async def scenario() -> tuple[int, int]:
        is_received, discarded = asyncio.Event(), Discarded()

        async def receive() -> Reception:
            await is_received.wait()
            return Reception(REPORT)

        stream = PushStream(push(tmp_path, REPORTING - {BANDS}), receive, discarded.discard)
        reading = asyncio.ensure_future(anext(aiter(stream)))
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait({reading})
        await stream.close()
        before = discarded.count
        is_received.set()
        await asyncio.to_thread(wait_until, lambda: discarded.count, 30, "the quarantine to go")
        return before, discarded.count

    assert asyncio.run(scenario()) == (0, 1)


def test_a_stream_that_nobody_reads_removes_its_quarantine(tmp_path: Path) -> None:
    discarded = Discarded()
    asyncio.run(PushStream(push(tmp_path), receiving(AssertionError()), discarded.discard).close())
    assert discarded.count == 1
