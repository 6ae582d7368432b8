"""The walks of one connection: bounded in number and time; without a server."""

import asyncio
import weakref
from typing import cast

import pytest

from api.http import walks as module
from api.http.walks import WalkKey, Walks
from gitstore.history.live import LiveProject

KEY: WalkKey = (b"Bearer svc_one", "/compat/flecto/list")


class Version:
    """A version of a project; only its identity counts here."""


def version() -> LiveProject:
    return cast("LiveProject", Version())


def test_windows_after_the_first_come_from_its_version() -> None:
    async def read() -> None:
        walks, old, new = Walks(), version(), version()
        assert walks.follow(KEY, 100, old) is old, "no walk has begun"
        assert walks.follow(KEY, 0, old) is old
        assert [walks.follow(KEY, offset, new) for offset in (100, 200, 100)] == [old] * 3
        for other in ((b"Bearer svc_two", KEY[1]), (KEY[0], "/compat/flecto/other")):
            assert walks.follow(other, 100, new) is new
        assert walks.follow(KEY, 0, new) is new
        assert walks.follow(KEY, 100, version()) is new

    asyncio.run(read())


def test_a_walk_ends_after_its_time_also_if_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: a connection that stays open keeps no old version in memory."""
    monkeypatch.setattr(module, "SECONDS", 0.05)

    async def read() -> None:
        walks = Walks()
        for _ in range(2):  # the timer begins again
            begun, gone = version(), asyncio.Event()
            finalizer = weakref.finalize(begun, gone.set)
            for name in (b"Bearer svc_one", b"Bearer svc_two"):
                walks.follow((name, KEY[1]), 0, begun)
            del begun
            assert finalizer.alive
            await asyncio.wait_for(gone.wait(), 30)
            new = version()
            assert walks.follow(KEY, 100, new) is new

    asyncio.run(read())


def test_a_late_timer_does_not_lengthen_a_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a turn of the loop no timer can run."""
    monkeypatch.setattr(module, "SECONDS", 0.0)

    async def read() -> None:
        walks, new = Walks(), version()
        walks.follow(KEY, 0, version())
        assert walks.follow(KEY, 1, new) is new

    asyncio.run(read())


def test_a_connection_has_a_bounded_number_of_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest walk gives way, not one that began again."""
    monkeypatch.setattr(module, "_MAX_WALKS", 3)

    async def read() -> None:
        walks, old, new = Walks(), version(), version()
        keys = [(b"Bearer svc_%d" % number, KEY[1]) for number in range(4)]
        for key in (*keys[:3], keys[0], keys[3]):
            walks.follow(key, 0, old)
        assert [walks.follow(key, 1, new) is old for key in keys] == [True, False, True, True]

    asyncio.run(read())


def test_a_closed_connection_keeps_nothing() -> None:
    async def read() -> None:
        walks, old, loop = Walks(), version(), asyncio.get_running_loop()
        walks.follow(KEY, 0, old)
        finalizer = weakref.finalize(old, lambda: None)
        del old
        walks.end()
        assert not finalizer.alive
        timers = [handle for handle in loop._scheduled if not handle.cancelled()]  # type: ignore[attr-defined]  # asyncio has no public list
        assert timers == []

    asyncio.run(read())


def test_a_walk_through_a_list_that_is_gone_ends() -> None:
    async def read() -> None:
        walks, old, new = Walks(), version(), version()
        walks.follow(KEY, 0, old)
        walks.forget(KEY)
        assert walks.follow(KEY, 100, new) is new
        walks.forget(KEY)

    asyncio.run(read())
