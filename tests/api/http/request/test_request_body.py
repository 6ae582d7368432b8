"""Bodies that come in slowly meet their deadline whatever the moment at which their pieces arrive."""

import asyncio
import time
from contextlib import suppress

import pytest

from api.errors import ApiError
from api.http.request.request_body import AsgiEvent, RequestBody

PIECE: AsgiEvent = {"type": "http.request", "body": b" ", "more_body": True}


async def arrive_with_the_deadline() -> AsgiEvent:
    """Return a piece at the moment when its reader is cancelled; `asyncio.wait_for` lets it win until Python 3.12."""
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        return PIECE
    raise AssertionError("the reader was not cancelled")


async def arrive_at_once() -> AsgiEvent:
    """Return a piece that has arrived already."""
    return PIECE


@pytest.mark.parametrize("receive", [arrive_with_the_deadline, arrive_at_once])
def test_what_is_left_of_a_body_is_thrown_away_for_so_long_and_no_longer(receive: type[object]) -> None:
    request_body = RequestBody(receive, 1, None)  # type: ignore[arg-type]  # one of the two above
    begun = time.monotonic()
    asyncio.run(request_body.drain(limit=10**12, seconds=0.05))
    assert 0.05 <= time.monotonic() - begun < 5


async def read_on(request_body: RequestBody) -> None:
    """Take piece after piece."""
    while True:
        await request_body()


def test_a_body_is_late_even_if_every_piece_wins_against_the_deadline() -> None:
    with pytest.raises(ApiError) as caught:
        asyncio.run(read_on(RequestBody(arrive_with_the_deadline, 0.05, None)))
    assert caught.value.status == 408


@pytest.mark.parametrize(("seconds", "outlasts"), [(0.0, True), (60, False)])
def test_the_rest_of_a_small_body_may_outlast_the_drain_once_it_is_late(
    seconds: float,
    outlasts: bool,  # noqa: FBT001 - an example
) -> None:
    async def read_two(request_body: RequestBody) -> None:
        for _ in range(2):
            await request_body()

    request_body = RequestBody(arrive_at_once, seconds, 10)
    with suppress(ApiError):
        asyncio.run(read_two(request_body))
    assert request_body.may_outlast_drain == outlasts
