"""Bodies that come in slowly meet their deadline whatever the moment at which their pieces arrive."""

import asyncio
import time

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
