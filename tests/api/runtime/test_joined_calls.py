"""Joined calls: one batch at a time, each caller its own result, and an error that is that of its batch alone."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from api.runtime.joined_calls import JoinedCalls


def test_calls_during_a_batch_share_the_next_one() -> None:
    begun, end, batches = threading.Event(), threading.Event(), list[Sequence[int]]()

    def double(_key: str, values: Sequence[int]) -> list[int]:
        batches.append(values)
        begun.set()
        assert end.wait(30)
        return [2 * value for value in values]

    async def ask() -> list[int]:
        calls = JoinedCalls(double)
        first = asyncio.create_task(calls.call("a", 0))
        await asyncio.to_thread(begun.wait, 30)
        others = [asyncio.create_task(calls.call("a", value)) for value in range(1, 100)]
        gone = asyncio.create_task(calls.call("a", 100))
        await asyncio.sleep(0)
        gone.cancel()
        end.set()
        return await asyncio.gather(first, *others)

    assert asyncio.run(ask()) == list(range(0, 200, 2))
    assert batches == [[0], list(range(1, 101))]


def test_an_error_is_that_of_its_batch() -> None:
    def fail(_key: str, values: Sequence[int]) -> list[int]:
        if 1 in values:
            raise OSError("a fault")
        return list(values)

    async def ask() -> None:
        calls = JoinedCalls(fail)
        with pytest.raises(OSError, match="a fault"):
            await calls.call("a", 1)
        assert await calls.call("a", 2) == 2

    asyncio.run(ask())
