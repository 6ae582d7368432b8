"""Event streams: a caller gets only the events that its grants cover, and a worker remembers a bounded number of events."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.db.events.events import Event, EventType, record_event
from api.db.state_store import StateStore, open_state_store
from api.events import streams
from api.events.branch_feeds import BranchFeeds
from api.events.streams import StreamItem, Streams, StreamStart
from tests.api.fakes import FakeDirectory, FakePrincipal
from tests.api.world import START

PATIENCE = 30
Grants = tuple[tuple[str, str, str, str], ...]


def streams_of(state: StateStore, directory: FakeDirectory) -> Streams:
    return Streams(state.database, state.database.notifier, directory, BranchFeeds(Path("none")))


def directory_of(*grants: tuple[str, str, str, str]) -> FakeDirectory:
    return FakeDirectory({"t": FakePrincipal("reader", grants)})


def record(state: StateStore, number: int, project: str = "shop", kind: EventType = EventType.PUBLISHED) -> None:
    with state.database.writing() as connection:
        record_event(connection, Event(START, "acme", project, kind, {}, str(number)))


async def next_item(items: AsyncIterator[StreamItem]) -> StreamItem:
    async with asyncio.timeout(PATIENCE):
        return await anext(items)


async def next_event(items: AsyncIterator[StreamItem]) -> Event:
    item = await next_item(items)
    assert isinstance(item, Event)
    return item


def record_all_sorts(state: StateStore) -> None:
    """Record a publish of `docs`, a failing agent of `shop`, and last a publish of `shop`."""
    record(state, 1, project="docs")
    record(state, 2, kind=EventType.AGENT_FAILING)
    record(state, 3)


@pytest.mark.parametrize("is_backlog", [True, False])
@pytest.mark.parametrize(
    ("grants", "expected"),
    [
        ((("project", "read", "acme", "shop"),), ["3"]),
        ((("project", "read", "acme", "*"),), ["1", "3"]),
        ((("project", "read", "acme", "shop"), ("agent", "read", "acme", "shop")), ["2", "3"]),
        ((("*", "*", "*", "*"),), ["1", "2", "3"]),
    ],
)
def test_stream_has_only_events_that_its_token_may_read(
    tmp_path: Path,
    grants: Grants,
    expected: list[str],
    is_backlog: bool,  # noqa: FBT001 - a table's column
) -> None:
    """Guard: each event is checked, from the database as well as from memory."""

    async def run() -> list[str | None]:
        state = open_state_store(tmp_path)
        found = streams_of(state, directory_of(*grants))
        await found.start()
        newest = await found.newest()
        if is_backlog:
            await asyncio.to_thread(record_all_sorts, state)
            newest = await found.newest()
        items = found.follow("acme", "t", 0, newest)
        assert await next_item(items) == StreamStart(0)
        if not is_backlog:
            await asyncio.to_thread(record_all_sorts, state)
        commits: list[str | None] = []
        while not commits or commits[-1] != "3":
            commits.append((await next_event(items)).commit)
        await found.stop()
        return commits

    assert asyncio.run(run()) == expected


def test_lost_grant_counts_from_the_next_event_on(tmp_path: Path) -> None:
    """The token is looked up before each event is sent, not only when the stream begins."""

    async def run() -> None:
        state = open_state_store(tmp_path)
        directory = directory_of(("project", "read", "acme", "*"))
        found = streams_of(state, directory)
        await found.start()
        items = found.follow("acme", "t", 0, await found.newest())
        assert await next_item(items) == StreamStart(0)
        await asyncio.to_thread(record, state, 1, "docs")
        assert (await next_event(items)).commit == "1"
        directory.tokens["t"] = FakePrincipal("reader", (("project", "read", "acme", "shop"),))
        await asyncio.to_thread(record, state, 2, "docs")
        await asyncio.to_thread(record, state, 3)
        assert (await next_event(items)).commit == "3"
        await found.stop()

    asyncio.run(run())


def test_only_the_newest_events_stay_in_memory_and_older_ones_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guard: the memory of a worker is bounded, and a slow client misses nothing because of that."""
    monkeypatch.setattr(streams, "_RECENT", 3)
    monkeypatch.setattr(streams, "WINDOW", 2)
    count = 8

    async def run() -> None:
        state = open_state_store(tmp_path)
        found = streams_of(state, directory_of(("project", "read", "*", "*")))
        await found.start()
        first = found.follow("acme", "t", 0, await found.newest())
        assert await next_item(first) == StreamStart(0)
        for number in range(1, count + 1):
            await asyncio.to_thread(record, state, number)
            assert (await next_event(first)).id == number
        assert [event.id for event in found._recent] == [count - 2, count - 1, count]
        late = found.follow("acme", "t", 1, await found.newest())
        assert await next_item(late) == StreamStart(1)
        assert [(await next_event(late)).id for _ in range(count - 1)] == list(range(2, count + 1))
        await found.stop()

    asyncio.run(run())
