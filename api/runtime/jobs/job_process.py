"""One process for CPU-bound jobs: started at its first job, and ended when a job takes too long or leaves it too large."""

import asyncio
import gc
import os
import pickle
import select
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import TypeVar

from api import logs
from api.errors import Unavailable
from api.runtime.jobs.fork_server import fork_server
from api.runtime.jobs.job_runner import Done, run_job

T = TypeVar("T")

_TIMEOUT_RETRY_SECONDS = 60
_END_SECONDS = 1.0  # for an idle process to end by itself
_START_SECONDS = 60.0  # for a process to start; a new interpreter imports all modules for two

_log = logs.logger("jobs")


@dataclass(frozen=True, slots=True)
class JobLimits:
    """The seconds that one job may take, and the bytes of memory above which a process is replaced after its job."""

    seconds: float = 300.0
    memory: int = 1 << 30


class ProcessLost(Unavailable):
    """503: the process was killed during the job."""

    def __init__(self, code: str = "worker_lost") -> None:
        super().__init__("The process ended before the job was done. Try again.", code)


class JobTimeout(Unavailable):
    """503: the job took too long and was stopped."""

    def __init__(self, seconds: float, code: str = "job_timeout") -> None:
        message = (
            f"This took more than {seconds:g} seconds and was stopped. It may be done nevertheless: read the state again "
            "first. Then change less at once, or simplify the costliest regular expressions; the operator can raise "
            "job_timeout."
        )
        super().__init__(message, code, _TIMEOUT_RETRY_SECONDS)


class JobProcess:
    """A process that runs one job at a time; `is_usable` is false once it has to be replaced."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "job")  # waits for the answers of the process, and for nothing else
        self._link: _Link | None = None
        self._is_killed = False
        self.is_usable = True
        self.jobs = 0  # that ended
        self.memory = 0  # in bytes, after the last one

    @property
    def has_started(self) -> bool:
        """False until the process runs: it has no job then."""
        return self._link is not None and self._link.has_process

    async def run(self, work: Callable[[], T], limits: JobLimits) -> T:
        """Run a job and return its result, or raise its exception, ProcessLost or JobTimeout."""
        try:
            if not self.has_started:  # the start does not count as time of the job
                await asyncio.wrap_future(self._thread.submit(self._start))
            result = asyncio.wrap_future(self._thread.submit(self._exchange, work))
            done = await asyncio.wait_for(result, limits.seconds)
        except _LinkEnded as ex:
            self.close(wait=False)
            raise ProcessLost from ex
        except asyncio.CancelledError:
            self.close(wait=False)
            raise
        except TimeoutError as ex:
            self.kill()
            self.close(wait=False)
            raise JobTimeout(limits.seconds) from ex
        self.jobs, self.memory = self.jobs + 1, done.memory
        if done.memory > limits.memory:
            self.close(wait=False)
        result_of_job: T = done.unwrap()
        return result_of_job

    def accepts(self) -> bool:
        """Return whether the process is alive, as far as this one knows: a process killed while idle accepts no job."""
        if self._link is not None and self._link.has_ended():
            self.close(wait=False)
        return self.is_usable

    def collect(self) -> None:
        """Let the process collect its garbage, between its jobs."""
        with suppress(RuntimeError):  # closed meanwhile
            self._thread.submit(self._exchange, gc.collect).add_done_callback(self._note_memory)

    def _note_memory(self, collected: Future[Done[int]]) -> None:
        if not collected.cancelled() and collected.exception() is None:
            self.memory = collected.result().memory

    def kill(self) -> None:
        """Kill the process in the middle of its start or its job, which is safe at any time."""
        self._is_killed = True
        if self._link is not None:
            self._link.kill()

    def close(self, *, wait: bool) -> None:
        """End the process after its job."""
        if self.is_usable:
            self.is_usable = False
            with suppress(RuntimeError):  # this process ends, and so does its connection
                self._thread.submit(self._end)
        self._thread.shutdown(wait=wait)

    def _start(self) -> None:
        """Start the process; again if the fork server was killed with the request, or does not answer: no job has begun."""
        for last in (False, True):
            try:
                self._link = link = _Link()
            except (OSError, RuntimeError) as ex:  # too many files, or no interpreter to start
                _log.warning("job_process_not_started", error=str(ex))
                raise _LinkEnded from ex
            if self._is_killed:
                link.kill()
            try:
                link.await_process()
            except _LinkEnded:
                if last or self._is_killed:
                    raise
                link.end()
            else:
                return

    def _exchange(self, work: Callable[[], T]) -> Done[T]:
        if self._link is None:
            raise _LinkEnded
        return self._link.exchange(work)

    def _end(self) -> None:
        if self._link is not None:
            self._link.end()


class _LinkEnded(Exception):
    """The process has ended, or never began."""


class _Link:
    """The connection to a process that was forked for jobs."""

    def __init__(self) -> None:
        self._connection = Connection(fork_server.fork().detach())
        self._turn = threading.Lock()  # of the number of the connection, which another file gets once it is closed
        self._pid = 0

    @property
    def has_process(self) -> bool:
        return self._pid != 0

    def await_process(self) -> None:
        """Wait until the process runs."""
        with _link_ended():
            if not self._connection.poll(_START_SECONDS):
                fork_server.close()
                raise EOFError
            self._pid = self._connection.recv()

    def exchange(self, work: Callable[[], T]) -> Done[T]:
        """Have a job done, and wait for its end."""
        pickled = ForkingPickler.dumps(partial(run_job, work))
        with _link_ended():
            self._connection.send_bytes(pickled)
            answer = self._connection.recv_bytes()
        done: Done[T] = pickle.loads(answer)  # noqa: S301 - from a process of this one
        return done

    def has_ended(self) -> bool:
        """Tell whether the process has closed its end, which it does only when it ends."""
        with self._turn:
            return self._connection.closed or self._is_left(0)

    def kill(self) -> None:
        """Kill the process; one that is only starting ends with its connection."""
        with self._turn:
            if not self._connection.closed:
                self._kill()
                self._end_input()

    def end(self) -> None:
        """End the process, which has no job, and close the connection."""
        self._end_input()
        if not self._is_left(_END_SECONDS):
            self._kill()
        with self._turn:
            self._connection.close()

    def _kill(self) -> None:
        if self._pid and not self._is_left(0):  # later, its number may be that of another process
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)

    def _end_input(self) -> None:
        with (
            socket.socket(fileno=os.dup(self._connection.fileno())) as copy,
            suppress(OSError),
        ):  # the process has ended
            copy.shutdown(socket.SHUT_WR)

    def _is_left(self, seconds: float) -> bool:
        """Wait until the process has closed its end, and tell whether it has."""
        ends = select.poll()
        ends.register(self._connection.fileno(), select.POLLRDHUP)
        return bool(ends.poll(seconds * 1000))


@contextmanager
def _link_ended() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError) as ex:
        raise _LinkEnded from ex
