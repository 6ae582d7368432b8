"""Turns of the calls that hash passwords: few at once, fair between addresses, and never an endless queue."""

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from api.errors import Unavailable
from api.runtime.jobs import password_checks
from api.runtime.jobs.background import close_pools
from api.runtime.jobs.fair_queue import FairQueue
from api.runtime.jobs.password_checks import AT_ONCE, MOST_OF_ONE, PasswordChecks


class _Calls:
    """Calls that run until the test ends them."""

    def __init__(self) -> None:
        self.checks = PasswordChecks()
        self.running: list[str] = []
        self._ends: dict[str, threading.Event] = {}
        self._tasks: list[asyncio.Task[str]] = []

    def add(self, address: str, name: str) -> None:
        self._ends[name] = threading.Event()
        self._tasks.append(asyncio.create_task(self.checks.run(address, self._work, name)))

    def _work(self, name: str) -> str:
        self.running.append(name)
        assert self._ends[name].wait(60)
        return name

    async def until(self, *names: str) -> None:
        """Wait until these calls have begun, in this order."""
        while len(self.running) < len(names):  # noqa: ASYNC110 - threads add to it
            await asyncio.sleep(0.001)
        assert self.running == list(names)

    def end(self, name: str) -> None:
        self._ends[name].set()

    async def result(self, number: int) -> str:
        """Return the result of a call, once it has one."""
        return await self._tasks[number]

    def stop_waiting(self) -> None:
        """Cancel the calls that have no turn yet."""
        for task in self._tasks:
            task.cancel()

    async def results(self) -> list[str]:
        for end in self._ends.values():
            end.set()
        return await asyncio.gather(*self._tasks)


def run(scenario: Callable[[_Calls], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scenario(_Calls())

    try:
        asyncio.run(whole())
    finally:
        close_pools()


def test_one_call_of_an_address_runs_at_a_time_and_no_more_than_two_in_all() -> None:
    async def scenario(calls: _Calls) -> None:
        for address, name in (("a", "a1"), ("a", "a2"), ("b", "b1"), ("c", "c1")):
            calls.add(address, name)
        await calls.until("a1", "b1")
        calls.end("a1")
        await calls.until("a1", "b1", "c1")  # it was its turn before the second of a
        calls.end("b1")
        await calls.until("a1", "b1", "c1", "a2")
        assert await calls.results() == ["a1", "a2", "b1", "c1"]

    assert AT_ONCE == 2
    run(scenario)


def test_an_address_with_many_calls_is_refused_and_no_other() -> None:
    async def scenario(calls: _Calls) -> None:
        calls.add("flood", "first")
        await calls.until("first")
        for number in range(MOST_OF_ONE):
            calls.add("flood", f"waits-{number}")
        await asyncio.sleep(0)
        with pytest.raises(Unavailable) as refused:
            await calls.checks.run("flood", str, "x")
        assert (refused.value.status, refused.value.code) == (503, "overloaded")
        assert int(refused.value.headers["Retry-After"]) > 0
        assert await calls.checks.run("other", str, "x") == "x"
        assert len(await calls.results()) == MOST_OF_ONE + 1

    run(scenario)


def test_calls_of_one_address_rest_between_them_and_delay_no_other_and_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(password_checks, "_REST", 1e9)
    monkeypatch.setattr(password_checks, "_LONGEST_REST", 3600.0)

    async def scenario(calls: _Calls) -> None:
        for address, name in (("a", "a1"), ("a", "a2")):
            calls.add(address, name)
        await calls.until("a1")
        calls.end("a1")
        assert await calls.result(0) == "a1"
        for address, name in (("b", "b1"), ("c", "c1")):  # they have both places
            calls.add(address, name)
        await calls.until("a1", "b1", "c1")
        for number, name in ((2, "b1"), (3, "c1")):
            calls.end(name)
            assert await calls.result(number) == name
        assert calls.running == ["a1", "b1", "c1"]
        calls.stop_waiting()

    run(scenario)


def test_a_call_rests_a_tenth_of_a_second_at_most_and_only_for_calls_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    rests = list[float]()
    monkeypatch.setattr(FairQueue, "rest", lambda _self, _group, seconds: rests.append(seconds))

    async def scenario(calls: _Calls) -> None:
        assert await calls.checks.run("a", str, "alone") == "alone"
        assert rests == []  # none waits for it
        monkeypatch.setattr(password_checks, "_REST", 1e9)
        for name in ("a1", "a2", "a3"):
            calls.add("a", name)
        assert await calls.results() == ["a1", "a2", "a3"]
        assert rests == [0.1, 0.1]

    run(scenario)


def test_a_rest_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password_checks, "_REST", 1e9)
    monkeypatch.setattr(password_checks, "_LONGEST_REST", 0.01)

    async def scenario(calls: _Calls) -> None:
        for name in ("a1", "a2", "a3"):
            calls.add("a", name)
        assert await calls.results() == ["a1", "a2", "a3"]

    run(scenario)


def test_a_call_that_fails_gives_its_turn_back() -> None:
    async def scenario(calls: _Calls) -> None:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await calls.checks.run("a", divmod, 1, 0)
        assert await calls.checks.run("a", divmod, 3, 2) == (1, 1)

    run(scenario)
