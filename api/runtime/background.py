"""Work off the event loop: threads for work that blocks briefly, processes for CPU-bound work.

Both pools belong to one service worker and start at their first use, so never before the fork.
"""

import asyncio
import logging
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import wait
from typing import ParamSpec, TypeVar
from weakref import WeakValueDictionary

from api import logs
from api.errors import Unavailable

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 8
# Both start when they are needed. Each namespace uses at most one at a time, so that none waits for another's work;
# except for the short time of a verdict on one of its drafts.
PROCESSES = 2


@dataclass(slots=True)
class _Pools:
    """The pools of this process; None until their first use."""

    threads: ThreadPoolExecutor | None = None
    processes: ProcessPoolExecutor | None = None


_pools = _Pools()

# The namespace of the current request: its jobs for processes run one at a time.
queue_key: ContextVar[str] = ContextVar("queue_key", default="")

# The prefix of a namespace's second queue, for verdicts: they may stop a publish, so they cannot wait for it.
REVIEW_QUEUE = "verdicts of "

_queue_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


class ProcessLost(Unavailable):
    """503: the process was killed during the job."""

    def __init__(self, code: str = "worker_lost") -> None:
        super().__init__("The process ended before the job was done. Try again.", code)


@dataclass(slots=True)
class Jobs:
    """Counts of jobs for processes: queued or running ones, those ended as `done`, `failed` or `lost`, and seconds."""

    open: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @contextmanager
    def track(self) -> Iterator[None]:
        """Count a job and its time."""
        begun, outcome = time.monotonic(), "failed"
        self.open += 1
        try:
            yield
            outcome = "done"
        except ProcessLost:
            outcome = "lost"
            raise
        finally:
            self.open -= 1
            self.ended[outcome] += 1
            self.seconds += time.monotonic() - begun


jobs = Jobs()  # of this process


async def run_in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a thread of this worker and return its result: SQL, a small edit, password hashing."""
    if _pools.threads is None:
        _pools.threads = ThreadPoolExecutor(THREADS, "waypost")
    return await asyncio.get_running_loop().run_in_executor(_pools.threads, partial(work, *args, **kwargs))


async def run_in_process(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a separate process and return its result: a publish, an import, a compile.

    `work` is a module-level function; it and its arguments and result are pickled. Its exceptions are raised here. If
    the process is killed during the job, the result is 503; one that was killed earlier is replaced silently.
    """
    with jobs.track():
        async with _queue_lock():
            return _unwrap(await _in_process(partial(_call, work, args, kwargs)))


async def run_unqueued(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a separate process outside of a request: not counted as a job, and without a queue."""
    return _unwrap(await _in_process(partial(_call, work, args, kwargs)))


def _queue_lock() -> asyncio.Lock:
    """Return the lock of the current request's namespace; it is freed when no task holds it or waits for it."""
    key = queue_key.get()
    found = _queue_locks.get(key)
    if found is None:
        found = _queue_locks[key] = asyncio.Lock()
    return found


async def _in_process(job: Callable[[], T]) -> T:
    pool, result = _submit(job)
    try:
        return await asyncio.wrap_future(result)
    except BrokenProcessPool as ex:
        _discard_pool(pool)
        raise ProcessLost from ex


def close_pools() -> None:
    """Shut both pools down and wait for running work; later calls start new ones."""
    threads, processes = _pools.threads, _pools.processes
    _pools.threads = _pools.processes = None
    if processes is not None:
        processes.shutdown(wait=True, cancel_futures=True)
    if threads is not None:
        threads.shutdown(wait=True, cancel_futures=True)


def _submit(job: Callable[[], T]) -> tuple[ProcessPoolExecutor, Future[T]]:
    """Submit a job and return the pool with the future of the result; a pool known to be broken accepts no job."""
    pool = _processes()
    try:
        return pool, pool.submit(job)
    except BrokenProcessPool:
        _discard_pool(pool)
    pool = _processes()
    return pool, pool.submit(job)


def _processes() -> ProcessPoolExecutor:
    if _pools.processes is None:
        # A fork of this process with threads could deadlock:
        # https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods
        context = multiprocessing.get_context("spawn")
        _pools.processes = ProcessPoolExecutor(PROCESSES, context, _initialize_process, (logging.root.level,))
    return _pools.processes


def _discard_pool(pool: ProcessPoolExecutor) -> None:
    if _pools.processes is pool:
        _pools.processes = None
    pool.shutdown(wait=False, cancel_futures=True)


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


def _unwrap(result: T | _Failure) -> T:
    if isinstance(result, _Failure):
        raise result.rebuild()
    return result


def _call(work: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object]) -> T | _Failure:
    try:
        return work(*args, **kwargs)
    except Exception as ex:  # noqa: BLE001 - every failure is raised again for the caller in the other process
        return _Failure(type(ex), ex.args, dict(ex.__dict__), traceback.format_exc())


def _initialize_process(log_level: int) -> None:
    """Set the log of this process, and end it when its worker ends for any reason."""
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
