"""The fork server: a process for each request, without one of its own too, and an end that every caller sees."""

import asyncio
import errno
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from api.runtime.jobs import job_process
from api.runtime.jobs.fork_server import ForkServer, fork_server
from api.runtime.jobs.job_process import JobLimits, JobProcess, ProcessLost
from api.server.server import begin_worker
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


def test_a_server_that_does_not_answer_is_replaced(process: JobProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: the job waited without an end, and so did all others behind it."""
    before = child_pids(os.getpid())
    server = ForkServer()
    assert pid_of(server.fork())
    (stopped,) = child_pids(os.getpid()) - before
    os.kill(stopped, signal.SIGSTOP)
    monkeypatch.setattr(job_process, "fork_server", server)
    monkeypatch.setattr(job_process, "_START_SECONDS", 0.2)
    monkeypatch.setattr(ForkServer, "close", patient(ForkServer.close, monkeypatch))
    assert asyncio.run(process.run(os.getpid, JobLimits())) != os.getpid()
    assert stopped not in child_pids(os.getpid())
    server.close()


def patient(close: Callable[[ForkServer], None], monkeypatch: pytest.MonkeyPatch) -> Callable[[ForkServer], None]:
    """Return a `close` that lets the next server have the time that it needs to start."""

    def closing(server: ForkServer) -> None:
        monkeypatch.setattr(job_process, "_START_SECONDS", 60.0)
        close(server)

    return closing


def test_too_many_open_files_refuse_a_job_and_end_with_them(
    process: JobProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_server: ForkServer) -> socket.socket:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patched:
        patched.setattr(ForkServer, "fork", full)
        with pytest.raises(ProcessLost):
            asyncio.run(process.run(os.getpid, JobLimits()))
    assert asyncio.run(JobProcess().run(os.getpid, JobLimits())) != os.getpid()


def test_a_worker_that_gets_no_fork_server_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guard: gunicorn would have stopped the whole service, the healthy workers too."""

    def refuse() -> int:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)}
    monkeypatch.setattr(os, "fork", refuse)
    try:
        begin_worker(SimpleNamespace(SIG_QUEUE=SimpleQueue()), None)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


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
