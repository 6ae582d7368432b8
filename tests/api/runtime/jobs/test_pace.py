"""The pace of background rounds: rests by the processor time of steps, within the longest round."""

import asyncio
import time
from collections.abc import Iterator

import pytest

from api.runtime.jobs import pace
from api.runtime.jobs.background import close_pools
from api.runtime.jobs.pace import Pace

SHORTEST = 10.0
LONGEST = 50.0


class Clock:
    """A fake of `time` and `asyncio`: steps cost what `step` says, and rests pass at once."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.used = 0.0
        self.busy = 10  # seconds for each one of the processor
        self.rests: list[float] = []

    def monotonic(self) -> float:
        """Return the time of day."""
        return self.now

    def thread_time(self) -> float:
        """Return the processor time so far."""
        return self.used

    def step(self, seconds: float) -> str:
        """Use processor time; the clock goes on further, as on a busy machine."""
        self.used += seconds
        self.now += self.busy * seconds
        return "found"

    async def sleep(self, seconds: float) -> None:
        """Note a rest, and let it pass."""
        self.rests.append(round(seconds, 6))
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """Put a fake clock into the module."""
    found = Clock()
    monkeypatch.setattr(pace, "time", found)
    monkeypatch.setattr(pace, "asyncio", found)
    yield found
    close_pools()


async def look(found: Pace, clock: Clock, *steps: float) -> None:
    """Look for a round."""
    for seconds in steps:
        assert await found.run(clock.step, seconds) == "found"
        await found.rest()
    await found.end_round()


def paced(first: float = 0) -> Pace:
    """Return a pace with rests of at most a hundred times a step."""
    return Pace(shortest=SHORTEST, longest=LONGEST, most=100, least=10, first=first)


def test_rests_follow_the_processor_time_of_steps_not_the_time_of_day(clock: Clock) -> None:
    found = paced(first=20)
    asyncio.run(look(found, clock, 0.01, 0.02))
    assert clock.rests == [0.2, 0.4, 9.1]
    clock.rests.clear()
    asyncio.run(look(found, clock, 0.01, 0.02))
    assert clock.rests == [1, 2, 6.7]


def test_round_of_much_rests_less_so_that_it_takes_the_longest_time_at_most(clock: Clock) -> None:
    found = paced()
    clock.busy = 0
    asyncio.run(look(found, clock, *[0.1] * 20))
    assert clock.rests == [*[0] * 20, SHORTEST]
    clock.rests.clear()
    asyncio.run(look(found, clock, *[0.1] * 20))
    assert clock.rests == [*[2.5] * 20, 0]
    assert sum(clock.rests) == LONGEST


def test_no_rest_goes_beyond_the_longest_round(clock: Clock) -> None:
    """A step may take far more than those of the last round: the first read of a large namespace."""
    found = paced()
    asyncio.run(look(found, clock, 0.01))
    clock.rests.clear()
    asyncio.run(look(found, clock, 0.1, 1.0, 0.1))
    assert clock.rests == [10, 29, 1, 0]  # 50 seconds but for the steps, which take ten times their processor time


def test_round_of_very_much_rests_ten_times_each_step_however_long_it_takes(clock: Clock) -> None:
    found = paced()
    asyncio.run(look(found, clock, *[1.0] * 10))
    clock.rests.clear()
    asyncio.run(look(found, clock, *[1.0] * 10))
    assert clock.rests == [*[10] * 10, 0]


def test_a_step_looks_at_as_many_as_it_has_time_for(clock: Clock) -> None:
    costs = {"a": 0.002, "b": 0.002, "c": 0.001, "d": 0.02, "e": 0.001}

    def spend(name: str) -> str:
        clock.step(costs[name])
        return name.upper()

    async def run() -> None:
        found = [step async for step in paced(first=20).steps(lambda: list(costs), spend)]
        assert found == [["A", "B", "C"], ["D"], ["E"]]
        assert clock.rests == [0.1, 0.4, 0.02]
        clock.rests.clear()
        assert [step async for step in paced(first=20).steps(list, spend)] == [[]]

    asyncio.run(run())


def test_part_of_a_round_tells_nothing_about_the_next_one(clock: Clock) -> None:
    found = paced()
    asyncio.run(look(found, clock, *[0.1] * 20))

    async def break_off() -> None:
        await found.run(clock.step, 0.1)
        await found.end_round(is_complete=False)

    asyncio.run(break_off())
    clock.rests.clear()
    asyncio.run(look(found, clock, 0.1))
    assert clock.rests == [2.5, SHORTEST - 3.5]


def test_failed_step_is_rested_from_too(clock: Clock) -> None:
    def fail() -> None:
        clock.step(0.02)
        raise OSError("gone")

    async def run() -> None:
        found = paced(first=20)
        assert await found.run(clock.step, 0.01) == "found"
        await found.rest()
        with pytest.raises(OSError, match="gone"):
            await found.run(fail)
        await found.rest()
        assert clock.rests == [0.2, 0.4]

    asyncio.run(run())


def test_round_begins_when_the_one_before_it_has_ended(clock: Clock) -> None:
    found = paced()
    begun = found.begun
    asyncio.run(look(found, clock, 0.01))
    assert found.begun == begun + SHORTEST
    assert time.monotonic() != found.begun
