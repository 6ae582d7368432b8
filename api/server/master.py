"""The master process of the server: gunicorn's arbiter, with a reload that leaves no gap."""

import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from gunicorn.arbiter import Arbiter

from api import logs
from api.metrics.metrics_store import DIRECTORY, MetricsStore
from api.settings import Settings

RELOAD_SECONDS = 10.0
"""Seconds for which the old workers of a reload run on, at most, while the new ones start."""
_STEP_SECONDS = 0.02
"""Seconds between two checks of the new workers. The time of a worker's file is its only sign, so the master polls; it
serves no requests, and signals wait in its queue."""
_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)

_log = logs.logger("server")


class Master(Arbiter):
    """gunicorn's arbiter, with a pause in each reload.

    gunicorn stops the old workers as soon as the new ones are forked, long before these can serve, and has no hook in
    between: https://github.com/benoitc/gunicorn/issues/1757
    """

    def __init__(self, app: Any, ready: Callable[[], bool]) -> None:
        super().__init__(app)
        self._ready: Callable[[], bool] | None = ready

    def manage_workers(self) -> None:
        """Start or stop workers, up to the set number; before any is stopped, wait until the newest serve."""
        if len(self.WORKERS) > self.num_workers:
            self._await_newest()
        super().manage_workers()
        # gunicorn calls this once a second, and has no hook for the moment at which the first workers serve.
        if self._ready is not None and self.WORKERS and not any(map(_is_starting, self.WORKERS.values())):
            self._ready = None if self._ready() else self._ready

    def _await_newest(self) -> None:
        """Wait until the newest workers serve; replace a worker that dies at its start."""
        until = time.monotonic() + RELOAD_SECONDS
        oldest = sorted(worker.age for worker in self.WORKERS.values())[-self.num_workers]
        while time.monotonic() < until:
            staying = [worker for worker in self.WORKERS.values() if worker.age >= oldest]
            if len(staying) < self.num_workers:
                self.spawn_worker()
            elif not any(map(_is_starting, staying)):
                return
            time.sleep(_STEP_SECONDS)
            self.reap_workers()


def _is_starting(worker: Any) -> bool:
    """Tell whether a worker does not serve yet.

    gunicorn 27.0.1 sets the modification time of a worker's file to the monotonic clock, seconds since boot, at each
    heartbeat. Before the first one it is the time of day at which the file was created, which is later.
    https://github.com/benoitc/gunicorn/blob/27.0.1/gunicorn/workers/workertmp.py#L42
    """
    return bool(worker.tmp.last_update() > time.monotonic())


def reset_signals(arbiter: Any, _worker: Any) -> None:
    """Let a signal to stop end a worker that is still starting.

    After the fork the worker has the master's handlers, which only put the signal into a queue. In the worker no code reads
    this queue, so a stop would take the whole graceful timeout.
    https://github.com/benoitc/gunicorn/blob/27.0.1/gunicorn/arbiter.py#L237
    """
    for stop in _STOPS:
        signal.signal(stop, signal.SIG_DFL)
    while not arbiter.SIG_QUEUE.empty():
        if arbiter.SIG_QUEUE.get_nowait() in _STOPS:
            sys.exit(0)


def merge_ended_workers(settings: Settings, arbiter: Any, _worker: Any) -> None:
    """Add the counts of workers that ended to the metrics; in the master, which an error cannot stop."""
    try:
        open_metrics_store(settings).close(arbiter.WORKERS)
    except Exception as ex:  # noqa: BLE001 - gunicorn would stop the service
        _log.warning("metrics_not_stored", error=str(ex))


def open_metrics_store(settings: Settings) -> MetricsStore:
    """Return the store in which the workers of these settings write their counts."""
    return MetricsStore(settings.data / DIRECTORY)
