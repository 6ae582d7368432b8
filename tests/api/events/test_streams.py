"""Event streams of one worker: keep-alive comments without events, and an end with the worker."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.db.events.events import Event, EventType, record_event, remove_events_of
from api.db.state_store import StateStore, open_state_store
from api.events import streams
from api.events.branch_feeds import BranchFeeds
from api.events.streams import KeepAlive, StreamItem, Streams, StreamStart
from tests.api.fakes import FakeDirectory, FakePrincipal
from tests.api.world import START

PATIENCE = 30
READER = FakePrincipal("reader", (("project", "read", "*", "*"),))


def streams_of(state: StateStore, directory: FakeDirectory | None = None) -> Streams:
    return Streams(
        state.database, state.database.notifier, directory or FakeDirectory({"t": READER}), BranchFeeds(Path("none"))
    )


def record(state: StateStore, number: int, namespace: str = "acme") -> None:
    with state.database.writing() as connection:
        record_event(connection, Event(START, namespace, "shop", EventType.PUBLISHED, {}, str(number)))


async def next_piece(pieces: AsyncIterator[StreamItem]) -> StreamItem:
    async with asyncio.timeout(PATIENCE):
        return await anext(pieces)


def test_without_events_a_client_is_sent_keep_alive_comments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "KEEPALIVE", 0.05)
    monkeypatch.setattr(streams, "CHECK_INTERVAL", 0.02)

    async def run() -> None:
        found = streams_of(open_state_store(tmp_path))
        await found.start()
        pieces = found.follow("acme", "t", 0, 0)
        assert await next_piece(pieces) == StreamStart(0)
        assert await next_piece(pieces) == KeepAlive()
        assert found.count == 1
        found.release()
        assert [piece async for piece in pieces] == []
        assert found.count == 0
        await found.stop()

    asyncio.run(run())


def test_own_writes_wake_a_stream_at_once_and_others_by_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_POLL_INTERVAL", 0.2)

    async def run() -> None:
        own, other = open_state_store(tmp_path), open_state_store(tmp_path)
        found = streams_of(own)
        await found.start()
        pieces = found.follow("acme", "t", 0, await found.newest())
        assert await next_piece(pieces) == StreamStart(0)
        for number, state in enumerate((own, other, own), 1):
            await asyncio.to_thread(record, state, number)
            await asyncio.to_thread(record, state, number, "elsewhere")
            piece = await next_piece(pieces)
            assert isinstance(piece, Event)
            assert (piece.id, piece.commit, piece.namespace) == (2 * number - 1, str(number), "acme")
        await found.stop()

    asyncio.run(run())


def test_a_new_stream_gets_no_events_that_were_removed_since_they_were_read(tmp_path: Path) -> None:
    """Guard: those of a deleted namespace stayed in memory, and went to the holders of a new one of its name."""

    async def run() -> None:
        state = open_state_store(tmp_path)
        found = streams_of(state)
        await found.start()
        first = found.follow("acme", "t", 0, await found.newest())
        await next_piece(first)
        await asyncio.to_thread(record, state, 1)
        assert isinstance(await next_piece(first), Event)
        with state.database.writing() as connection:
            remove_events_of(connection, "acme")
        await asyncio.to_thread(record, state, 2)
        second = found.follow("acme", "t", 0, await found.newest())
        await next_piece(second)
        piece = await next_piece(second)
        assert isinstance(piece, Event)
        assert piece.commit == "2"
        await found.stop()

    asyncio.run(run())


def test_a_token_that_is_gone_ends_the_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "CHECK_INTERVAL", 0.02)

    async def run() -> None:
        directory = FakeDirectory({"t": READER})
        found = streams_of(open_state_store(tmp_path), directory)
        pieces = found.follow("acme", "t", 0, 0)
        assert await next_piece(pieces) == StreamStart(0)
        directory.tokens.clear()
        async with asyncio.timeout(PATIENCE):
            assert [piece async for piece in pieces] == []
        await found.stop()

    asyncio.run(run())


def test_no_query_is_made_while_no_client_follows(tmp_path: Path) -> None:
    async def run() -> None:
        found = streams_of(open_state_store(tmp_path))
        await found.start()
        assert found._task is None
        await found.stop()

    asyncio.run(run())
