"""The lock by which one worker does the work of a node."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from api.data.served_data import ServedData
from api.upstreams.node_lock import take_node_lock


def test_one_has_it_until_it_ends(served: ServedData, tmp_path: Path) -> None:
    async def take_in_turn() -> list[bool]:
        async with AsyncExitStack() as first, AsyncExitStack() as second:
            found = [await take_node_lock(served, tmp_path / "lock", stack) for stack in (first, second)]
            await first.aclose()
            return [*found, await take_node_lock(served, tmp_path / "lock", second)]

    assert asyncio.run(take_in_turn()) == [True, False, True]


def test_lost_data_gets_no_lock_file(served: ServedData, tmp_path: Path) -> None:
    """A worker that starts while the data is away has not looked at it before."""
    repositories = served.parts.root / "repos"
    repositories.rename(tmp_path / "away")
    repositories.mkdir()

    async def take() -> bool:
        async with AsyncExitStack() as stack:
            return await take_node_lock(served, repositories / "lock", stack)

    assert asyncio.run(take()) is False
    assert list(repositories.iterdir()) == []
