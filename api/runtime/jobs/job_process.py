"""One process for CPU-bound jobs: started at its first job, and ended when a job takes too long or leaves it too large."""

import asyncio
import gc
import logging
import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from ctypes import c_int
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.sharedctypes import RawValue
from pathlib import Path
from typing import Generic, TypeVar

from api import logs
from api.errors import Unavailable
from api.runtime.jobs.memory import return_large_blocks

T = TypeVar("T")

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TIMEOUT_RETRY_SECONDS = 60
# Above the worker's: on a busy core, a job takes a quarter of the time, and polls wait for it a third less (measured with
# two busy processes on two cores). A job alone on its core takes as long as before.
_NICENESS = 5
# Collections of the middle generation before one of all objects, which takes 70 ms, three times a small publish. An idle
# process makes one.
_MIDDLE_PER_WHOLE = 100


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
        # A fork of this process with threads could deadlock:
        # https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods
        context = multiprocessing.get_context("spawn")
        self._pid = RawValue(c_int, 0)  # written by the process
        self._pool = ProcessPoolExecutor(1, context, _initialize_process, (logging.root.level, self._pid))
        self.is_usable = True
        self.jobs = 0  # that ended
        self.memory = 0  # in bytes, after the last one

    @property
    def has_started(self) -> bool:
        """False until the process runs: it has no job then."""
        return self._pid.value != 0

    async def run(self, work: Callable[[], T], limits: JobLimits) -> T:
        """Run a job and return its result, or raise its exception, ProcessLost or JobTimeout."""
        try:
            if not self._pid.value:  # the start does not count as time of the job
                await asyncio.wrap_future(self._pool.submit(os.getpid))
            result = asyncio.wrap_future(self._pool.submit(_call, work))
            done = await asyncio.wait_for(result, limits.seconds)
        except BrokenProcessPool as ex:
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
        return done.unwrap()

    def accepts(self) -> bool:
        """Return whether the process is alive, as far as this one knows: a process killed while idle accepts no job."""
        try:
            self._pool.submit(os.getpid)
        except BrokenProcessPool:
            self.close(wait=False)
        return self.is_usable

    def collect(self) -> None:
        """Let the process collect its garbage, between its jobs."""
        with suppress(BrokenProcessPool):
            self._pool.submit(_collect).add_done_callback(self._note_memory)

    def _note_memory(self, collected: Future[int]) -> None:
        if not collected.cancelled() and collected.exception() is None:
            self.memory = collected.result()

    def kill(self) -> None:
        """Kill the process in the middle of its start or its job, which is safe at any time."""
        # CPython 3.14 has `kill_workers` for this; until it has run, a process cannot tell its id itself:
        # https://docs.python.org/3/library/concurrent.futures.html#concurrent.futures.ProcessPoolExecutor.kill_workers
        for child in list((self._pool._processes or {}).values()):  # noqa: SLF001 - no public name before CPython 3.14
            child.kill()

    def close(self, *, wait: bool) -> None:
        """End the process after its job."""
        self.is_usable = False
        self._pool.shutdown(wait=wait, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Failure:
    """The parts of an exception, passed between processes instead of the exception itself.

    Pickle calls an exception's class with its `args`, and fails for a class with other arguments
    (https://bugs.python.org/issue32696); a result that cannot be unpickled breaks the pool.
    """

    type: type[Exception]
    args: tuple[object, ...]
    state: dict[str, object]
    trace: str

    def rebuild(self) -> Exception:
        """Rebuild the exception, with the other process's traceback as a note."""
        ex = self.type.__new__(self.type, *self.args)  # OSError takes its `errno` from these arguments alone
        ex.args = self.args
        ex.__dict__.update(self.state)
        ex.add_note(self.trace)
        return ex


@dataclass(frozen=True, slots=True)
class _Done(Generic[T]):
    """The result of a job or its failure, and the memory of the process afterwards, in bytes."""

    result: T | _Failure
    memory: int

    def unwrap(self) -> T:
        if isinstance(self.result, _Failure):
            raise self.result.rebuild()
        return self.result


def _call(work: Callable[[], T]) -> _Done[T]:
    try:
        result: T | _Failure = work()
    except Exception as ex:  # noqa: BLE001 - every failure is raised again for the caller in the other process
        result = _Failure(type(ex), ex.args, dict(ex.__dict__), traceback.format_exc())
    return _Done(result, _own_memory())


def _collect() -> int:
    """Collect all garbage; return the memory of this process afterwards, in bytes."""
    gc.collect()
    return _own_memory()


def _own_memory() -> int:
    # the second and third numbers are the resident set, and the part of it that is in files, in pages. Maps of compiled
    # files are there once for all processes: https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html
    resident, in_files = map(int, Path("/proc/self/statm").read_text(encoding="ascii").split()[1:3])
    return (resident - in_files) * _PAGE


def _initialize_process(log_level: int, pid: c_int) -> None:
    """Set the log of this process, and end it when its worker ends for any reason."""
    pid.value = os.getpid()
    os.nice(_NICENESS)
    return_large_blocks()
    gc.set_threshold(*gc.get_threshold()[:2], _MIDDLE_PER_WHOLE)
    # Ctrl-C in a terminal interrupts all its foreground processes at once; the worker stops this one in order:
    # https://man7.org/linux/man-pages/man3/termios.3.html
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logs.configure(logging.getLevelName(log_level))
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_with_parent, args=(parent.sentinel,), name="parent-watch", daemon=True).start()


def _exit_with_parent(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
