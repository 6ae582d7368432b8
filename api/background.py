"""Work off the event loop: threads for what blocks briefly, processes for what burns CPU.

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
PROCESSES = 2
"""Both are started when they are needed. No namespace has more than one at work, so that none waits for another's; but
for the moment that a verdict on one of its drafts takes."""


@dataclass(slots=True)
class _Pools:
    """The pools of this process; None until something asks for them."""

    threads: ThreadPoolExecutor | None = None
    processes: ProcessPoolExecutor | None = None


_pools = _Pools()

lane: ContextVar[str] = ContextVar("lane", default="")
"""The namespace that the present request is about: the work that it gives to processes is done one after another."""

JUDGING = "verdicts of "
"""Before a namespace: a lane beside its own, for what must not wait for a publish that it may stop."""

_lanes: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


class WorkerLost(Unavailable):
    """The process was killed during the work: 503."""

    def __init__(self, code: str = "worker_lost") -> None:
        super().__init__("The process that did this work ended early; try again.", code)


@dataclass(slots=True)
class Jobs:
    """What was given to processes: how much waits or goes on, how much ended as `done`, `failed` or `lost`, and seconds."""

    open: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a job round its work."""
        begun, outcome = time.monotonic(), "failed"
        self.open += 1
        try:
            yield
            outcome = "done"
        except WorkerLost:
            outcome = "lost"
            raise
        finally:
            self.open -= 1
            self.ended[outcome] += 1
            self.seconds += time.monotonic() - begun


jobs = Jobs()
"""The jobs of this process."""


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `work` gives, run in a thread of this worker: SQL, a small edit, password hashing."""
    if _pools.threads is None:
        _pools.threads = ThreadPoolExecutor(THREADS, "waypost")
    return await asyncio.get_running_loop().run_in_executor(_pools.threads, partial(work, *args, **kwargs))


async def in_worker(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What `work` gives, run in a process of its own: a publish, an import, a compile.

    `work` is a module-level function; it and its arguments and result are pickled. Its exceptions arrive
    as they were raised. A process that is killed from outside during the work is 503; one that was killed
    before is replaced without a word.
    """
    with jobs.one():
        async with _lane():
            return _outcome(await _in_process(partial(_run, work, args, kwargs)))


async def aside(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The same for work that nobody asked for: no job is counted for it, and it waits for no other."""
    return _outcome(await _in_process(partial(_run, work, args, kwargs)))


def _lane() -> asyncio.Lock:
    """The lock of the present request's namespace; it is gone when nobody holds it or waits for it."""
    key = lane.get()
    found = _lanes.get(key)
    if found is None:
        found = _lanes[key] = asyncio.Lock()
    return found


async def _in_process(job: Callable[[], T]) -> T:
    pool, result = _submit(job)
    try:
        return await asyncio.wrap_future(result)
    except BrokenProcessPool as ex:
        _forget(pool)
        raise WorkerLost from ex


def close_pools() -> None:
    """End both pools and wait for what runs in them; a later call starts new ones."""
    threads, processes = _pools.threads, _pools.processes
    _pools.threads = _pools.processes = None
    if processes is not None:
        processes.shutdown(wait=True, cancel_futures=True)
    if threads is not None:
        threads.shutdown(wait=True, cancel_futures=True)


def _submit(job: Callable[[], T]) -> tuple[ProcessPoolExecutor, Future[T]]:
    """The pool that took the job, with what will be its result; a pool that is known to be broken took nothing."""
    pool = _processes()
    try:
        return pool, pool.submit(job)
    except BrokenProcessPool:
        _forget(pool)
    pool = _processes()
    return pool, pool.submit(job)


def _processes() -> ProcessPoolExecutor:
    if _pools.processes is None:
        context = multiprocessing.get_context("spawn")
        _pools.processes = ProcessPoolExecutor(PROCESSES, context, _settle, (logging.root.level,))
    return _pools.processes


def _forget(pool: ProcessPoolExecutor) -> None:
    if _pools.processes is pool:
        _pools.processes = None
    pool.shutdown(wait=False, cancel_futures=True)


@dataclass(frozen=True, slots=True)
class _Failure:
    """An exception on its way between processes.

    Pickle calls an exception's class with its `args`, which fails for a class whose arguments differ from
    them, and a result that cannot be read breaks the whole pool. So the parts travel, not the exception.
    """

    type: type[Exception]
    args: tuple[object, ...]
    state: dict[str, object]
    trace: str

    def rebuild(self) -> Exception:
        """The exception, with the other process's traceback as a note."""
        ex = self.type.__new__(self.type)
        ex.args = self.args
        ex.__dict__.update(self.state)
        ex.add_note(self.trace)
        return ex


def _outcome(result: T | _Failure) -> T:
    if isinstance(result, _Failure):
        raise result.rebuild()
    return result


def _run(work: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object]) -> T | _Failure:
    try:
        return work(*args, **kwargs)
    except Exception as ex:  # noqa: BLE001 - every failure belongs to the caller in the other process
        return _Failure(type(ex), ex.args, dict(ex.__dict__), traceback.format_exc())


def _settle(log_level: int) -> None:
    """Make this process a quiet part of the service: same log, and an end when its worker ends, however that happens.

    An interrupt from a terminal goes to all processes at once; the worker sees to it for this one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logs.configure(logging.getLevelName(log_level))
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel,), name="parent-watch", daemon=True).start()


def _watch(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)
