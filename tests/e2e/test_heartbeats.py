"""Heartbeats of many agents: cheap and visible at once, measured on the running service."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic

import pytest

from tests.e2e.counted import COUNTER
from tests.e2e.world import Place, World, open_world
from tests.service import running, wait_until

COUNTED = (sys.executable, "-m", "tests.e2e.counted", "serve")
AGENTS = 10_000
PERIOD = 30
A_SECOND = -(-AGENTS // PERIOD)
SECONDS = 8
NAMES = [f"edge-{number}" for number in range(AGENTS)]
CONNECTIONS = 16
WORKERS = 2
# seconds: one until the worker writes, and a reserve for a shared machine
SEEN_WITHIN = 15.0


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service whose write transactions are counted."""
    with running(COUNTED, tmp_path_factory.mktemp("counted") / "data") as service, open_world(service) as world:
        yield world


def writes(world: World) -> int:
    """Return the number of write transactions so far."""
    file: Path = world.service.data / COUNTER
    return file.stat().st_size


def wait_until_quiet(world: World) -> None:
    """Wait until nothing was written for a second and more: entries on what was created are written within one."""
    quiet, before = 0, -1

    def is_quiet() -> bool:
        nonlocal quiet, before
        world.nobody.ask("GET", "/health/ping", 204)
        now = writes(world)
        quiet, before = (quiet + 1 if now == before else 0), now
        return quiet > 60

    wait_until(is_quiet, 15, "a second and more without a write")


def most_in(seconds: float) -> float:
    """Return the maximum of transactions in so many seconds: one a second and worker, and those at either end.

    A worker that has just started also writes once when it removes expired records.
    """
    return WORKERS * (seconds + 2)


def beat(place: Place, names: Sequence[str], on_a_connection: int = 1) -> None:
    """Send a heartbeat of each agent, as fast as possible; every new connection may reach the other worker."""
    headers = f"Host: localhost\r\nAuthorization: Bearer {place.holder(('agent', 'write')).root.token}\r\n\r\n"
    groups = [names[at : at + on_a_connection] for at in range(0, len(names), on_a_connection)]

    async def send(group: Sequence[str]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", place.world.service.port)
        for name in group:
            writer.write(f"PATCH {place.path}/agents/{name}/hit HTTP/1.1\r\n{headers}".encode())
            answer = await reader.readuntil(b"\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200 "), answer
        writer.close()
        await writer.wait_closed()

    async def send_in_turn(own: Sequence[Sequence[str]]) -> None:
        for group in own:
            await send(group)

    async def send_all() -> None:
        await asyncio.gather(*(send_in_turn(groups[at::CONNECTIONS]) for at in range(CONNECTIONS)))

    asyncio.run(send_all())


def test_ten_thousand_agents_cost_two_write_transactions_a_second_at_most(counted: World) -> None:
    """They come at the rate of agents that send one every 30 seconds."""
    place = counted.place()
    wait_until_quiet(counted)
    before, begin = writes(counted), monotonic()
    for second in range(SECONDS):
        beat(place, NAMES[second * A_SECOND : (second + 1) * A_SECOND])
        wait_until(lambda: monotonic() >= begin + second + 1, 30, "the next second")  # noqa: B023 - used before that
    sent = SECONDS * A_SECOND
    wait_until(lambda: place.get("/agents", limit=1)["total"] == sent, SEEN_WITHIN, "all agents to be seen")
    seconds, found = monotonic() - begin, writes(counted) - before
    assert 1 <= found <= most_in(seconds), f"{found} transactions in {seconds:.1f} s"


def test_ten_thousand_agents_at_once_cost_no_more(counted: World) -> None:
    place = counted.place()
    wait_until_quiet(counted)
    before, begin = writes(counted), monotonic()
    beat(place, NAMES, on_a_connection=AGENTS // CONNECTIONS)
    rush = monotonic() - begin
    wait_until(lambda: place.get("/agents", limit=1)["total"] == AGENTS, SEEN_WITHIN, "all agents to be seen")
    seconds, found = monotonic() - begin, writes(counted) - before
    assert 1 <= found <= most_in(seconds), f"{found} transactions in {seconds:.1f} s"
    assert rush < PERIOD, f"{AGENTS} heartbeats took {rush:.1f} s"


def test_without_heartbeats_nothing_is_written(counted: World) -> None:
    """The use of a token is also written, so the request has none."""
    place = counted.place()
    beat(place, ["edge-1"])
    wait_until(lambda: place.get("/agents")["total"] == 1, SEEN_WITHIN, "the agent to be seen")
    wait_until_quiet(counted)


def test_each_heartbeat_is_seen_soon(counted: World) -> None:
    place = counted.place()
    for number in range(4):
        beat(place, [f"edge-{number}"])
        wait_until(lambda: place.get("/agents")["total"] > number, SEEN_WITHIN, "the heartbeat to be seen")  # noqa: B023 - used before the next round
