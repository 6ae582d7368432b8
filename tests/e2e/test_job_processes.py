"""The processes for jobs of a real service: forked from a copy of their worker, replaced when killed, and never left behind."""

import os
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from gitstore.git.lock import hold
from tests.e2e.git import check_repository
from tests.e2e.nodes import descendants
from tests.e2e.world import Place, World, open_world
from tests.service import FORKER, WAYPOST, child_pids, is_running, name_of, open_files, running, wait_until


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[World]:
    """Run a service whose processes a test may kill."""
    with running(WAYPOST, tmp_path / "data") as service, open_world(service, killed=True) as world:
        yield world


@contextmanager
def waiting_publish(place: Place) -> Iterator[tuple[set[int], "Future[Any]"]]:
    """Hold the lock for which a publish waits; give the processes that wait, and the call."""
    lock = place.repository / "waypost.lock"
    jobs = place.world.service.job_processes
    with ThreadPoolExecutor(1) as pool, hold(place.repository):
        publishing = pool.submit(place.root.send, "POST", f"{place.path}/publish", json={})
        found = wait_until(lambda: {pid for pid in jobs() if lock in open_files(pid)}, 60, "the publish to wait")
        yield found, publishing


def forkers(world: World) -> set[int]:
    """Return the fork servers of the workers."""
    children = {pid for worker in world.service.workers() for pid in child_pids(worker)}
    return {pid for pid in children if name_of(pid) == FORKER and is_running(pid)}


def memory(pid: int, kind: str) -> int:
    """Return the bytes of a kind of memory of a process."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    return sum(1024 * int(line.split()[1]) for line in text.splitlines() if line.startswith(f"{kind}:"))


def test_a_process_has_all_modules_and_shares_them_with_its_worker(mortal: World) -> None:
    place = mortal.place()
    place.published("/a")
    for job in wait_until(mortal.service.job_processes, 30, "a process for jobs"):
        assert memory(job, "Rss") > 30 << 20
        assert memory(job, "Private_Dirty") < memory(job, "Rss") / 2


def test_publishes_go_on_after_all_fork_servers_were_killed(mortal: World) -> None:
    place = mortal.place()
    place.published("/a")
    before = forkers(mortal)
    assert len(before) == 2
    killed = before | mortal.service.job_processes()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(map(is_running, killed)), 10, "the killed processes to end")
    for number in range(8):  # both workers publish
        place.published(f"/b{number}")
    assert forkers(mortal)
    assert not forkers(mortal) & before
    check_repository(place.repository)


def test_a_signal_to_stop_that_reaches_every_process_ends_no_publish(mortal: World) -> None:
    """A service manager sends it to all processes of a service at once."""
    place = mortal.place()
    place.published("/a")
    place.add("/b")
    with waiting_publish(place) as (_jobs, publishing):
        for pid in descendants(mortal.service.process.pid):
            os.kill(pid, signal.SIGTERM)
    answer = publishing.result(60)
    assert (answer.status_code, answer.json()["publishNumber"]) == (200, 3)
    mortal.service.process.wait(30)


def test_after_all_workers_are_killed_nothing_runs_and_nothing_listens(mortal: World) -> None:
    """A process for jobs would keep the port, which the next start needs."""
    place = mortal.place()
    place.published("/a")
    place.add("/b")
    service = mortal.service
    with waiting_publish(place) as (_jobs, publishing):
        below = descendants(service.process.pid)
        for pid in {service.process.pid, *service.workers()}:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(map(is_running, below - {service.process.pid})), 20, "all processes to end")
        with pytest.raises(httpx.TransportError):
            publishing.result(60)
    with socket.socket() as client:
        assert client.connect_ex(("127.0.0.1", service.port)) != 0
    check_repository(place.repository)
