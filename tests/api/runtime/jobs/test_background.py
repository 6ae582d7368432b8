"""Work off the event loop: results and exceptions arrive unchanged, and no process is left behind."""

import asyncio
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from api.errors import Unavailable
from api.runtime.jobs import background
from api.runtime.jobs.background import (
    RELEASE_QUEUE,
    JobLimits,
    ProcessLost,
    close_pools,
    configure_jobs,
    queue_key,
    run_in_process,
    run_in_queue,
    run_in_thread,
    run_transfer,
)
from content.records.problem import Problem
from gitstore.errors import Conflicts, Invalid
from tests.service import is_running, wait_until


def conflict() -> None:
    """Raise a failure whose class cannot be created from its `args`."""
    raise Conflicts("Both sides changed it.", [{"id": "1"}])


def wrong() -> None:
    """Raise another failure, with problems."""
    raise Invalid("It is wrong.", [Problem("code", "Sentence.")])


def divide(dividend: int, *, by: int) -> float:
    """Divide by a keyword argument."""
    return dividend / by


def end_abruptly(marker: str) -> None:
    """End the process like the kernel's OOM killer does."""
    Path(marker).touch()
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_thread_gives_the_result_without_holding_up_the_loop() -> None:
    async def scenario() -> tuple[float, bool]:
        gate = threading.Event()
        waiting = asyncio.create_task(run_in_thread(gate.wait, 10))
        ratio = await run_in_thread(divide, 6, by=3)
        gate.set()
        return ratio, await waiting

    assert asyncio.run(scenario()) == (2.0, True)


def test_a_worker_is_another_process_and_gives_the_result() -> None:
    async def scenario() -> tuple[int, int, float]:
        return await run_in_process(os.getpid), await run_in_process(os.getpid), await run_in_process(divide, 6, by=3)

    first, second, ratio = asyncio.run(scenario())
    assert os.getpid() not in {first, second}
    assert ratio == 2.0


def test_jobs_give_way_to_requests() -> None:
    """A busy core goes to the workers, which answer agents, before it goes to a publish or an import."""
    try:
        assert asyncio.run(run_in_process(os.nice, 0)) == min(os.nice(0) + 5, 19)
    finally:
        close_pools()


def test_processes_without_jobs_end_but_for_a_small_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one stays for the next job; a large one gives its memory back."""
    monkeypatch.setattr(background, "_IDLE_SECONDS", 0.05)
    close_pools()  # those of earlier tests wait for jobs too

    async def scenario() -> tuple[set[int], int, int]:
        async with asyncio.timeout(120):
            pids = {*await asyncio.gather(*(run_in_queue(f"space {turn}", os.getpid) for turn in range(2)))}
            await asyncio.to_thread(wait_until, lambda: sum(map(is_running, pids)) == 1, 30, "one process to end")
            monkeypatch.setattr(background, "_SMALL", 0)
            kept = await run_in_process(os.getpid)
            await asyncio.to_thread(wait_until, lambda: not is_running(kept), 30, "the large process to end")
            return pids, kept, await run_in_process(os.getpid)

    pids, kept, last = asyncio.run(scenario())
    assert kept in pids
    assert last not in pids


def _count_collections() -> tuple[int, int]:
    """Return the id of this process, and how often it collected all garbage."""
    return os.getpid(), gc.get_stats()[2]["collections"]


def test_an_idle_process_collects_its_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a busy one: a collection of all objects takes longer than a small publish."""
    monkeypatch.setattr(background, "_COLLECT_SECONDS", 0.05)

    async def scenario() -> list[tuple[int, int]]:
        async with asyncio.timeout(120):
            found = [await run_in_process(_count_collections)]
            while found[-1][1] == found[0][1]:
                await asyncio.sleep(0.2)
                found.append(await run_in_process(_count_collections))
            return found

    found = asyncio.run(scenario())
    assert len({pid for pid, _ in found}) == 1


def test_exceptions_of_a_worker_arrive_as_they_were_raised() -> None:
    with pytest.raises(Conflicts, match="Both sides") as caught:
        asyncio.run(run_in_process(conflict))
    assert caught.value.conflicts == ({"id": "1"},)
    assert "in conflict" in caught.value.__notes__[0]
    with pytest.raises(Invalid) as refused:
        asyncio.run(run_in_process(wrong))
    assert refused.value.problems == (Problem("code", "Sentence."),)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(run_in_process(divide, 1, by=0))


def test_a_worker_that_is_killed_is_503_and_the_next_call_works(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as caught:
        asyncio.run(run_in_process(end_abruptly, str(tmp_path / "marker")))
    assert (caught.value.status, caught.value.code) == (503, "worker_lost")
    assert (tmp_path / "marker").exists()
    assert asyncio.run(run_in_process(divide, 4, by=2)) == 2.0


def rendezvous(own: str, other: str) -> bool:
    """Wait until another piece of work has begun."""
    Path(own).touch()
    wait_until(Path(other).exists, 60, "the other piece of work to begin")
    return True


def began_alone(marker: str) -> bool:
    """Return whether no other piece of work with this marker is under way, which would be visible."""
    path = Path(marker)
    alone = not path.exists()
    path.touch()
    for _ in range(200_000):
        alone = alone and path.exists()
    path.unlink()
    return alone


def test_work_of_one_namespace_does_not_wait_for_that_of_another(tmp_path: Path) -> None:
    """Each of the two ends only when both have begun."""
    one, two = str(tmp_path / "one"), str(tmp_path / "two")

    async def in_lane(name: str, own: str, other: str) -> bool:
        queue_key.set(name)
        return await run_in_process(rendezvous, own, other)

    async def scenario() -> tuple[bool, bool]:
        return await asyncio.gather(in_lane("acme", one, two), in_lane("other", two, one))

    assert all(asyncio.run(scenario()))


def test_work_of_one_namespace_is_done_one_after_another(tmp_path: Path) -> None:
    async def in_lane() -> bool:
        queue_key.set("acme")
        return await run_in_process(began_alone, str(tmp_path / "marker"))

    async def scenario() -> list[bool]:
        return await asyncio.gather(*(in_lane() for _ in range(4)))

    assert asyncio.run(scenario()) == [True] * 4


def test_transfers_of_a_namespace_wait_neither_for_its_jobs_nor_for_one_another(tmp_path: Path) -> None:
    """Each of the three ends only when another one has begun."""
    names = [str(tmp_path / name) for name in ("job", "first", "second")]

    async def scenario() -> tuple[bool, bool, bool]:
        queue_key.set("acme")
        return await asyncio.gather(
            run_in_process(rendezvous, names[0], names[1]),
            run_transfer(rendezvous, names[1], names[2]),
            run_transfer(rendezvous, names[2], names[0]),
        )

    assert list(asyncio.run(scenario())) == [True] * 3


def test_a_worker_that_was_killed_while_idle_is_replaced_silently() -> None:
    """The next call gets a broken pool, which has not accepted it, and is passed to a new one."""

    async def scenario() -> tuple[int, int]:
        old = await run_in_process(os.getpid)
        os.kill(old, signal.SIGKILL)
        await run_in_thread(wait_until, lambda: not Path(f"/proc/{old}").exists(), 5, "the process to be collected")
        return old, await run_in_process(os.getpid)

    old, new = asyncio.run(scenario())
    assert old != new


def test_closing_ends_the_processes_and_a_later_call_starts_new_ones() -> None:
    old = asyncio.run(run_in_process(os.getpid))
    close_pools()
    wait_until(lambda: not Path(f"/proc/{old}").exists(), 15, "the process to end")
    assert asyncio.run(run_in_process(os.getpid)) != old
    assert asyncio.run(run_in_thread(time.monotonic)) > 0


def never_end(marker: str) -> None:
    """Compute without an end."""
    Path(marker).write_text(str(os.getpid()), encoding="ascii")
    while True:
        pass


def grow(size: int) -> int:
    """Hold memory in this process from now on, and return its id."""
    _HELD.append(b"x" * size)
    return os.getpid()


_HELD: list[bytes] = []


@pytest.fixture
def default_limits() -> Iterator[None]:
    """Restore the limits of jobs."""
    yield
    configure_jobs(JobLimits())


def test_closing_does_not_wait_for_a_compile_that_any_process_repeats(tmp_path: Path) -> None:
    """Guard: the service did not stop before a large push was compiled."""
    marker = tmp_path / "marker"

    async def scenario() -> None:
        job = asyncio.create_task(run_in_queue(f"{RELEASE_QUEUE}acme", never_end, str(marker)))
        await run_in_thread(wait_until, lambda: marker.exists() and marker.read_text(), 60, "the job to begin")
        close_pools()
        with suppress(ProcessLost, asyncio.CancelledError):
            await job

    asyncio.run(scenario())
    wait_until(lambda: not Path(f"/proc/{marker.read_text()}").exists(), 5, "the killed process to be gone")


@pytest.mark.usefixtures("default_limits")
def test_a_job_that_takes_too_long_is_stopped_with_its_process_and_the_next_one_works(tmp_path: Path) -> None:
    async def scenario() -> float:
        assert await run_in_process(divide, 4, by=2) == 2.0
        configure_jobs(JobLimits(seconds=1.0))
        with pytest.raises(Unavailable) as caught:
            await run_in_process(never_end, str(tmp_path / "marker"))
        assert (caught.value.status, caught.value.code) == (503, "job_timeout")
        assert "took more than 1 seconds" in caught.value.message
        configure_jobs(JobLimits())
        return await run_in_process(divide, 6, by=2)

    assert asyncio.run(scenario()) == 3.0
    process = Path("/proc") / (tmp_path / "marker").read_text(encoding="ascii")
    wait_until(lambda: not process.exists(), 30, "the process to be collected")


@pytest.mark.usefixtures("default_limits")
def test_a_process_that_grew_is_replaced_after_its_job() -> None:
    async def scenario() -> tuple[int, int, int]:
        configure_jobs(JobLimits(memory=300 << 20))
        return await run_in_process(os.getpid), await run_in_process(grow, 400 << 20), await run_in_process(os.getpid)

    small, grown, new = asyncio.run(scenario())
    assert small == grown != new
    wait_until(lambda: not Path(f"/proc/{grown}").exists(), 30, "the process to end")


def test_a_job_goes_on_and_keeps_its_turn_when_its_caller_is_cancelled(tmp_path: Path) -> None:
    """A job of another namespace gives the second one the time to begin, which it must not do yet."""
    begun, gate, ended = (str(tmp_path / name) for name in ("begun", "gate", "ended"))

    async def in_lane(name: str, work: Callable[..., bool], *args: str) -> bool:
        queue_key.set(name)
        return await run_in_process(work, *args)

    async def scenario() -> bool:
        first = asyncio.create_task(in_lane("acme", pass_gate, begun, gate, ended))
        await run_in_thread(wait_until, Path(begun).exists, 60, "the job to begin")
        first.cancel()
        second = asyncio.create_task(in_lane("acme", exists, ended))
        await asyncio.sleep(0)
        assert not await in_lane("other", exists, ended)
        await run_in_thread(Path(gate).touch)
        return await second

    assert asyncio.run(scenario())


def pass_gate(begun: str, gate: str, ended: str) -> bool:
    """Wait for the gate."""
    rendezvous(begun, gate)
    Path(ended).touch()
    return True


def exists(path: str) -> bool:
    """Return whether a file exists."""
    return Path(path).exists()
