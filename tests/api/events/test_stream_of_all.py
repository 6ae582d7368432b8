"""The stream of all namespaces: grants that change on the way, many namespaces, slow readers, and a second start."""

import asyncio
import secrets
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
SPACES = 200


def holder(*namespaces: str) -> FakePrincipal:
    return FakePrincipal("reader", tuple(("project", "read", each, "*") for each in namespaces))


def streams_of(state: StateStore, directory: FakeDirectory) -> Streams:
    return Streams(state.database, state.database.notifier, directory, BranchFeeds(Path("none")))


def record(state: StateStore, *namespaces: str) -> None:
    with state.database.writing() as connection:
        for namespace in namespaces:
            record_event(connection, Event(START, namespace, "shop", EventType.PUBLISHED, {}, secrets.token_hex(20)))


async def next_event(items: AsyncIterator[StreamItem]) -> Event:
    async with asyncio.timeout(PATIENCE):
        while not isinstance(item := await anext(items), Event):
            pass
        return item


def test_a_grant_that_comes_or_goes_counts_from_the_next_event_on(tmp_path: Path) -> None:
    async def run() -> list[str]:
        state, directory = open_state_store(tmp_path), FakeDirectory({"t": holder("a")})
        found = streams_of(state, directory)
        await found.start()
        items = found.follow(None, "t", 0, await found.newest())
        assert await anext(items) == StreamStart(0)
        seen = list[str]()
        for grants in (("a",), ("a", "b"), ("b",), ("*",)):
            directory.tokens["t"] = holder(*grants, "/")
            await asyncio.to_thread(record, state, "a", "c", "b", "/")
            seen.append((await next_event(items)).namespace)
            while seen[-1] != "/":
                seen.append((await next_event(items)).namespace)
        await found.stop()
        return seen

    assert "".join(asyncio.run(run())) == "a/ab/b/acb/"


def test_a_person_without_grants_stays_and_gets_what_comes_after_a_grant(tmp_path: Path) -> None:
    async def run() -> str:
        state, directory = open_state_store(tmp_path), FakeDirectory({"t": holder()})
        found = streams_of(state, directory)
        await found.start()
        items = found.follow(None, "t", 0, await found.newest())
        assert await anext(items) == StreamStart(0)
        waiting = asyncio.ensure_future(next_event(items))
        await asyncio.to_thread(record, state, "a")
        directory.tokens["t"] = holder("b")
        await asyncio.to_thread(record, state, "b")
        event = await waiting
        await found.stop()
        return event.namespace

    assert asyncio.run(run()) == "b"


@pytest.mark.parametrize("window", [7, 100])
def test_of_many_namespaces_each_reader_gets_its_own_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    monkeypatch.setattr(streams, "WINDOW", window)
    names = [f"n{number}" for number in range(SPACES)]

    async def run() -> None:
        state = open_state_store(tmp_path)
        mine = names[::20]
        directory = FakeDirectory({"all": holder("*"), "some": holder(*mine)})
        found = streams_of(state, directory)
        await found.start()
        newest = await found.newest()
        every, some = (found.follow(None, token, 0, newest) for token in ("all", "some"))
        await anext(every)
        await anext(some)
        await asyncio.to_thread(record, state, *names)
        assert [(await next_event(every)).namespace for _ in names] == names
        assert [(await next_event(some)).namespace for _ in mine] == mine
        assert found.count == 2
        await found.stop()

    asyncio.run(run())


def test_a_slow_reader_holds_nobody_up_and_misses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow one reads one event while more come than a worker remembers; the quick one has all of them meanwhile."""
    monkeypatch.setattr(streams, "_RECENT", 10)
    names = [f"n{number}" for number in range(60)]

    async def run() -> None:
        state = open_state_store(tmp_path)
        found = streams_of(state, FakeDirectory({"t": holder("*")}))
        await found.start()
        newest = await found.newest()
        slow, quick = (found.follow(None, "t", 0, newest) for _ in range(2))
        await anext(slow)
        await anext(quick)
        seen = list[str]()
        for at in range(0, len(names), 5):
            await asyncio.to_thread(record, state, *names[at : at + 5])
            seen += [(await next_event(quick)).namespace for _ in range(5)]
            if at == 0:
                assert (await next_event(slow)).namespace == names[0]
        assert seen == names
        assert len(found._recent) == 10
        assert [(await next_event(slow)).namespace for _ in names[1:]] == names[1:]
        await found.stop()

    asyncio.run(run())


def test_a_reader_that_returns_with_the_last_id_gets_what_it_missed_once(tmp_path: Path) -> None:
    async def run() -> None:
        state = open_state_store(tmp_path)
        found = streams_of(state, FakeDirectory({"t": holder("*")}))
        await found.start()
        first = found.follow(None, "t", 0, await found.newest())
        await anext(first)
        await asyncio.to_thread(record, state, "a", "b")
        last = await next_event(first)
        await first.aclose()  # type: ignore[attr-defined]  # it is a generator
        assert found.count == 0
        await asyncio.to_thread(record, state, "c")
        again = found.follow(None, "t", last.id, await found.newest())
        assert await anext(again) == StreamStart(last.id)
        assert [(await next_event(again)).namespace for _ in range(2)] == ["b", "c"]
        await found.stop()

    asyncio.run(run())
