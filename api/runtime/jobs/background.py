"""Work off the event loop: threads for work that blocks briefly, processes for CPU-bound work.

Threads and processes belong to one service worker and start at their first use, so never before the fork. Jobs for
processes take turns by namespace, and a job that takes too long is stopped, see `fair_queue` and `job_process`.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, ParamSpec, TypeVar

from api.db.audit_caller import caller as audit_caller
from api.db.audit_caller import run_as
from api.runtime.jobs.fair_queue import FairQueue
from api.runtime.jobs.job_process import JobLimits, JobProcess, JobTimeout, ProcessLost

__all__ = ["JobLimits", "JobTimeout", "ProcessLost"]

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 8
# They start when they are needed. Each namespace uses at most one at a time for its own jobs, and none can take the last
# one while another of its jobs runs.
PROCESSES = 3
_IDLE_SECONDS = 60.0
_COLLECT_SECONDS = 1.0  # after a job without another one
_SMALL = 128 << 20  # bytes of memory, of a process that may wait for jobs; with all modules it has 80 MB

# More of them run while Git transfers do: those have places of their own, so that no publish waits for a clone.
TRANSFERS = 3
# The namespace of the current request: its jobs for processes run one at a time.
queue_key: ContextVar[str] = ContextVar("queue_key", default="")

# The prefixes of a namespace's other queues: verdicts may stop a publish, so they cannot wait for it, and agents do not
# wait for an editor's job.
REVIEW_QUEUE = "verdicts of "
RELEASE_QUEUE = "releases of "
CHANGES_QUEUE = "changes of "
_UPKEEP_QUEUE = "upkeep of this worker"  # no name of a namespace has a space
_TRANSFER_QUEUE = "transfer "  # with the number of the transfer, since those of a namespace run side by side
_REPEATED = (RELEASE_QUEUE, _UPKEEP_QUEUE)  # jobs that another process repeats if they are killed


def _namespace_of(key: str) -> str:
    if key.startswith(_TRANSFER_QUEUE):
        return key.rpartition(" ")[2]
    return key.removeprefix(REVIEW_QUEUE).removeprefix(RELEASE_QUEUE).removeprefix(CHANGES_QUEUE)


@dataclass(slots=True)
class _Pools:
    """The threads and processes of this process, and the queue for the latter."""

    threads: ThreadPoolExecutor | None = None
    idle: list[JobProcess] = field(default_factory=list)
    busy: dict[JobProcess, str] = field(default_factory=dict)  # with the key of its job
    queue: FairQueue = field(default_factory=lambda: FairQueue(PROCESSES, _namespace_of))
    transfers: FairQueue = field(default_factory=lambda: FairQueue(TRANSFERS, _namespace_of))
    limits: JobLimits = field(default_factory=JobLimits)
    tasks: set[asyncio.Task[Any]] = field(default_factory=set)


_pools = _Pools()
_numbers = count()


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
    """Run `work` in a thread of this worker and return its result: SQL, a small edit.

    It has the context variables of the caller.
    """
    if _pools.threads is None:
        _pools.threads = ThreadPoolExecutor(THREADS, "waypost")
    return await asyncio.get_running_loop().run_in_executor(
        _pools.threads, partial(copy_context().run, partial(work, *args, **kwargs))
    )


async def run_in_process(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a separate process and return its result: a publish, an import, a compile.

    `work` is a module-level function; it and its arguments and result are pickled. Its exceptions are raised here. If
    the process is killed during the job, or the job takes too long, the result is 503; a process that was killed
    earlier is replaced silently.
    """
    return await run_in_queue(queue_key.get(), work, *args, **kwargs)


async def run_in_queue(key: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` like `run_in_process`, in the queue of a key instead of the request's."""
    with jobs.track():
        return await _run(key, partial(run_as, audit_caller.get(), partial(work, *args, **kwargs)))


async def run_transfer(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a part of a fetch or push like `run_in_process`, in a place for transfers.

    Those of one namespace run side by side, except in the last place.
    """
    return await run_in_queue(f"{_TRANSFER_QUEUE}{next(_numbers)} of {queue_key.get()}", work, *args, **kwargs)


async def run_unqueued(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in a separate process outside of a request: not counted as a job, and in a queue of its own."""
    return await _run(_UPKEEP_QUEUE, partial(work, *args, **kwargs))


async def _run(key: str, work: Callable[[], T]) -> T:
    """Run a job to its end, even if its caller is cancelled: until then its process and its turn are taken."""
    return await run_to_end(_run_in_turn(key, work))


async def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, even if its caller is cancelled."""
    task = asyncio.create_task(work)
    _pools.tasks.add(task)
    task.add_done_callback(_forget)
    return await asyncio.shield(task)


def _forget(task: asyncio.Task[Any]) -> None:
    """Drop an ended task; reading its exception marks it as handled, also where the caller is gone."""
    _pools.tasks.discard(task)
    if not task.cancelled():
        task.exception()


async def _run_in_turn(key: str, work: Callable[[], T]) -> T:
    queue = _pools.transfers if key.startswith(_TRANSFER_QUEUE) else _pools.queue
    async with queue.turn(key):
        process = _take_process()
        _pools.busy[process] = key
        try:
            return await process.run(work, _pools.limits)
        finally:
            _pools.busy.pop(process, None)
            if process.is_usable:
                _pools.idle.append(process)
                loop = asyncio.get_running_loop()
                loop.call_later(_COLLECT_SECONDS, _collect_if_idle, process, process.jobs)
                loop.call_later(_IDLE_SECONDS, _end_unneeded, process, process.jobs)


def _collect_if_idle(process: JobProcess, jobs: int) -> None:
    """Have the garbage of a process collected that has had no job since: a collection in a job would make it slow."""
    if process in _pools.idle and process.jobs == jobs:
        process.collect()


def _end_unneeded(process: JobProcess, jobs: int) -> None:
    """End a process that has had no job since, unless it is small and alone waits for the next job."""
    if process in _pools.idle and process.jobs == jobs and (len(_pools.idle) > 1 or process.memory > _SMALL):
        _pools.idle.remove(process)
        process.close(wait=False)


def _take_process() -> JobProcess:
    """Return an idle process, or a new one; a process that was killed while idle is dropped."""
    while _pools.idle:
        process = _pools.idle.pop()
        if process.accepts():
            return process
    return JobProcess()


def configure_jobs(limits: JobLimits) -> None:
    """Set the limits of jobs in this worker."""
    _pools.limits = limits


def close_pools() -> None:
    """Shut threads and processes down and wait for running jobs of callers; later calls start new ones.

    Upkeep and compiles are repeated by the next process that needs them, so they are killed, as are processes that are
    idle or only starting.
    """
    threads, busy = _pools.threads, dict(_pools.busy)
    repeated = [process for process, key in busy.items() if key.startswith(_REPEATED) or not process.has_started]
    idle, _pools.threads, _pools.idle = _pools.idle, None, []
    for task in _pools.tasks:
        if not task.get_loop().is_closed():
            task.cancel()  # those in the queue; it does not stop a running job
    for process in (*repeated, *idle):
        process.kill()
    for process in (*busy, *idle):
        process.close(wait=True)
    if threads is not None:
        threads.shutdown(wait=True, cancel_futures=True)
