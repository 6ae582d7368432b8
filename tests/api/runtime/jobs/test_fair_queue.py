"""Turns of jobs: in rotation by namespace, one at a time for each key, and the last place for a namespace without a job."""

import asyncio
from collections.abc import Awaitable, Callable

from api.runtime.jobs.fair_queue import FairQueue


class _Jobs:
    """Jobs that begin when the queue lets them, and end when the test says so."""

    def __init__(self, places: int) -> None:
        self.begun: list[str] = []
        self._queue = FairQueue(places, lambda key: key.partition(" ")[0])
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def add(self, key: str, name: str) -> None:
        self._ends[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._run(key, name))

    async def _run(self, key: str, name: str) -> None:
        async with self._queue.turn(key):
            self.begun.append(name)
            await self._ends[name].wait()

    async def end(self, name: str) -> list[str]:
        """End a job, and return the names of those that begin then."""
        before = len(self.begun)
        self._ends[name].set()
        await self._tasks[name]
        return (await self.ready())[before:]

    async def cancel(self, name: str) -> list[str]:
        before = len(self.begun)
        self._tasks[name].cancel()
        await asyncio.gather(self._tasks[name], return_exceptions=True)
        return (await self.ready())[before:]

    async def ready(self) -> list[str]:
        for _ in range(5):
            await asyncio.sleep(0)
        return self.begun


def _run(scenario: Callable[[_Jobs], Awaitable[None]], places: int = 2) -> None:
    async def run() -> None:
        await scenario(_Jobs(places))

    asyncio.run(run())


def test_many_jobs_of_one_namespace_do_not_come_before_the_first_of_another() -> None:
    async def scenario(jobs: _Jobs) -> None:
        for number in range(5):
            jobs.add("acme", f"acme {number}")
        jobs.add("other", "other 0")
        jobs.add("third", "third 0")
        assert await jobs.ready() == ["acme 0"]
        assert await jobs.end("acme 0") == ["other 0"]
        assert await jobs.end("other 0") == ["third 0"]
        assert await jobs.end("third 0") == ["acme 1"]

    _run(scenario, places=1)


def test_jobs_of_one_key_run_one_at_a_time_in_order() -> None:
    async def scenario(jobs: _Jobs) -> None:
        for number in range(3):
            jobs.add("acme", str(number))
        assert await jobs.ready() == ["0"]
        assert await jobs.end("0") == ["1"]
        assert await jobs.end("1") == ["2"]

    _run(scenario, places=3)


def test_the_last_place_is_for_a_namespace_that_has_none() -> None:
    async def scenario(jobs: _Jobs) -> None:
        jobs.add("acme", "publish")
        jobs.add("acme verdicts", "verdict")
        assert await jobs.ready() == ["publish"]
        jobs.add("other", "other")
        assert await jobs.ready() == ["publish", "other"]
        assert await jobs.end("other") == []
        assert await jobs.end("publish") == ["verdict"]

    _run(scenario, places=2)


def test_a_second_key_of_a_namespace_runs_beside_the_first_while_places_are_free() -> None:
    async def scenario(jobs: _Jobs) -> None:
        jobs.add("acme", "publish")
        jobs.add("acme verdicts", "verdict")
        jobs.add("acme releases", "release")
        assert await jobs.ready() == ["publish", "verdict"]

    _run(scenario, places=3)


def test_a_cancelled_job_gives_up_its_turn() -> None:
    async def scenario(jobs: _Jobs) -> None:
        jobs.add("acme", "first")
        jobs.add("other", "waiting")
        jobs.add("third", "next")
        assert await jobs.ready() == ["first"]
        assert await jobs.cancel("waiting") == []
        assert await jobs.cancel("first") == ["next"]

    _run(scenario, places=1)
