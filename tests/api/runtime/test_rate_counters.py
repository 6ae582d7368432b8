"""Rate counters: the law of a rate, several keys, processes that take at once, and a process that is killed."""

import os
import signal
import time
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.db.accounts.attempts import Rate
from api.runtime.rate_counters import RateCounters

RATE = Rate(5, 60.0)
NOW = 1_800_000_000.0
PROCESSES, EACH = 4, 200


def passed(counters: RateCounters, key: str, times: list[float], rate: Rate = RATE) -> list[float]:
    """Return the times of the calls that were not refused."""
    return [now for now in times if not counters.take({key: rate}, now).wait]


@given(st.lists(st.floats(0, 50), min_size=1, max_size=60), st.integers(1, 8))
def test_calls_pass_as_the_rate_allows(steps: list[float], tries: int) -> None:
    """The model: a bucket of `tries` calls that is refilled by one call per interval."""
    counters, rate, now, left = RateCounters(), Rate(tries, 60.0), NOW, float(tries)
    for step in steps:
        now, left = now + step, min(float(tries), left + step / rate.interval)
        outcome = counters.take({"key": rate}, now)
        if abs(left - 1) < 1e-3:
            left -= not outcome.wait  # the last digit decides
            continue
        assert bool(outcome.wait) == (left < 1)
        left -= not outcome.wait
        assert abs(outcome.left - left) < 1.01


def test_a_refused_call_passes_after_its_wait_and_not_before() -> None:
    counters = RateCounters()
    assert passed(counters, "a", [NOW] * 9) == [NOW] * 5
    outcome = counters.take({"a": RATE}, NOW)
    assert outcome.left == 0
    assert outcome.wait == pytest.approx(RATE.interval)
    assert passed(counters, "a", [NOW + outcome.wait - 0.1, NOW + outcome.wait]) == [NOW + outcome.wait]


def test_the_outcome_is_that_of_the_key_with_the_least_left_and_a_refusal_takes_from_none() -> None:
    counters, wide = RateCounters(), Rate(20, 60.0)
    keys: Mapping[str, Rate] = {"caller": RATE, "address": wide}
    assert [counters.take(keys, NOW).left for _ in range(5)] == [4, 3, 2, 1, 0]
    assert counters.take(keys, NOW).wait
    assert counters.take({"address": wide}, NOW).left == 14


def test_keys_do_not_share_calls_while_there_is_room() -> None:
    counters = RateCounters()
    assert all(passed(counters, f"key {number}", [NOW] * 6) == [NOW] * 5 for number in range(1000))
    assert all(counters.take({f"key {number}": RATE}, NOW).wait for number in range(1000))


def test_more_keys_than_there_is_room_for_forget_others_and_harm_nothing() -> None:
    counters = RateCounters()
    for number in range(100_000):
        assert not counters.take({f"key {number}": RATE}, NOW).wait


def test_a_clock_that_is_set_back_refuses_no_one_for_long() -> None:
    counters = RateCounters()
    passed(counters, "a", [NOW + 86_400] * 9)
    assert passed(counters, "a", [NOW] * 9) == [NOW] * 5


def test_of_calls_in_several_processes_as_many_pass_as_the_rate_allows() -> None:
    counters, rate = RateCounters(), Rate(300, 3600.0)

    def work() -> None:
        os._exit(len(passed(counters, "shared", [NOW] * EACH, rate)))

    children = [fork(work) for _ in range(PROCESSES)]
    counts = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert sum(counts) == 300
    assert counters.take({"shared": rate}, NOW).wait


def test_a_process_that_is_killed_at_any_time_holds_up_no_other() -> None:
    counters, rate = RateCounters(), Rate(1_000_000, 1.0)

    def work() -> None:
        while True:
            counters.take({"key": rate}, NOW)

    for _ in range(20):
        child = fork(work)
        deadline = time.monotonic() + 0.02
        while time.monotonic() < deadline:
            counters.take({"other": rate}, NOW)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        counters.take({"key": rate}, NOW)


def fork(work: Callable[[], None]) -> int:
    """Run the work in a fork of this process, which never returns from here; return its process id."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(255)
    return child
