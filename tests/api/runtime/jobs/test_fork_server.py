"""The fork server: a process for each request, without one of its own too, and an end that every caller sees."""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection

import pytest

from api.runtime.jobs import job_process
from api.runtime.jobs.fork_server import ForkServer, fork_server
from api.runtime.jobs.job_process import JobLimits, JobProcess, ProcessLost
from tests.service import child_pids, wait_until


@pytest.fixture
def process() -> Iterator[JobProcess]:
    """Give a process for jobs."""
    made = JobProcess()
    yield made
    made.kill()
    made.close(wait=True)


def pid_of(end: socket.socket) -> int:
    """Return the id that a new process sends first."""
    with Connection(end.detach()) as connection:
        return int(connection.recv())


def a_lock() -> object:
    """Return what cannot be sent to another process."""
    return threading.Lock()


def test_each_request_is_another_process() -> None:
    first, second = pid_of(fork_server.fork()), pid_of(fork_server.fork())
    assert len({first, second, os.getpid()}) == 3


def test_a_server_that_was_killed_is_replaced() -> None:
    before = child_pids(os.getpid())
    server = ForkServer()
    assert pid_of(server.fork())
    (killed,) = child_pids(os.getpid()) - before
    os.kill(killed, signal.SIGKILL)
    found = wait_until(lambda: try_pid(server), 60, "another server")
    assert found
    server.close()
    wait_until(lambda: child_pids(os.getpid()) <= before, 10, "both servers to end")


def try_pid(server: ForkServer) -> int:
    """Return the id of a new process; 0 if the request was lost with the server."""
    try:
        return pid_of(server.fork())
    except (EOFError, OSError):
        return 0


def test_a_request_that_is_lost_with_its_server_is_repeated(
    process: JobProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job has not begun, so it may be sent again."""

    class Lost:
        asked = 0

        def fork(self) -> socket.socket:
            self.asked += 1
            if self.asked > 1:
                return fork_server.fork()
            ours, theirs = socket.socketpair()
            theirs.close()
            return ours

    lost = Lost()
    monkeypatch.setattr(job_process, "fork_server", lost)
    assert asyncio.run(process.run(os.getpid, JobLimits())) != os.getpid()
    assert lost.asked == 2


def test_where_no_process_can_be_forked_a_job_is_refused(process: JobProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def fork(self) -> socket.socket:
            ours, theirs = socket.socketpair()
            theirs.close()
            return ours

    monkeypatch.setattr(job_process, "fork_server", Full())
    with pytest.raises(ProcessLost):
        asyncio.run(process.run(os.getpid, JobLimits()))
    assert not process.accepts()


def test_a_result_that_cannot_be_sent_is_an_error_and_the_process_goes_on(process: JobProcess) -> None:
    async def scenario() -> int:
        with pytest.raises(TypeError, match="pickle"):
            await process.run(a_lock, JobLimits())
        return await process.run(os.getpid, JobLimits())

    assert asyncio.run(scenario()) != os.getpid()


def test_work_that_cannot_be_sent_is_an_error_and_the_process_goes_on(process: JobProcess) -> None:
    async def scenario() -> int:
        with pytest.raises((AttributeError, TypeError)):
            await process.run(lambda: 1, JobLimits())
        return await process.run(os.getpid, JobLimits())

    assert asyncio.run(scenario()) != os.getpid()
