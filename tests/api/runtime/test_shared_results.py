"""Results that many requests ask for at once: computed once for all of them, and cached within a number of bytes."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from api.runtime.shared_results import SharedResults


class Work:
    """Computations that wait until they may end; `begun` has the key of each."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.may_end = asyncio.Event()

    def __call__(self, key: str) -> Callable[[], Awaitable[bytes]]:
        """Return the computation of a key: its bytes."""

        async def compute() -> bytes:
            self.begun.append(key)
            await self.may_end.wait()
            if key == "fails":
                raise OSError(key)
            return key.encode()

        return compute


def test_requests_at_once_share_one_computation() -> None:
    async def run() -> None:
        shared, work = SharedResults[str, bytes](100, len), Work()
        asked = [asyncio.create_task(shared.get("one", work("one"))) for _ in range(50)]
        await asyncio.sleep(0)
        work.may_end.set()
        assert await asyncio.gather(*asked) == [b"one"] * 50
        assert await shared.get("one", work("one")) == b"one"
        assert work.begun == ["one"]

    asyncio.run(run())


def test_a_request_that_is_cancelled_takes_the_result_from_no_other() -> None:
    async def run() -> None:
        shared, work = SharedResults[str, bytes](100, len), Work()
        first, second = (asyncio.create_task(shared.get("one", work("one"))) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        work.may_end.set()
        assert await second == b"one"
        assert first.cancelled()
        assert work.begun == ["one"]

    asyncio.run(run())


def test_an_error_goes_to_all_and_the_next_request_computes_again() -> None:
    async def run() -> None:
        shared, work = SharedResults[str, bytes](100, len), Work()
        work.may_end.set()
        found = await asyncio.gather(*(shared.get("fails", work("fails")) for _ in range(3)), return_exceptions=True)
        assert [type(each) for each in found] == [OSError] * 3
        with pytest.raises(OSError, match="fails"):
            await shared.get("fails", work("fails"))
        assert work.begun == ["fails", "fails"]

    asyncio.run(run())


def test_results_are_cached_up_to_a_number_of_bytes() -> None:
    """Guard: one that is larger by itself drives no other out."""

    async def run() -> None:
        shared, work = SharedResults[str, bytes](10, len), Work()
        work.may_end.set()
        for key in ("aaaa", "bbbb", "x" * 11, "bbbb", "aaaa", "cccc", "bbbb", "x" * 11):
            assert await shared.get(key, work(key)) == key.encode()
        assert work.begun == ["aaaa", "bbbb", "x" * 11, "cccc", "bbbb", "x" * 11]

    asyncio.run(run())
