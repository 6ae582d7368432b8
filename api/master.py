"""The master process of the server: gunicorn's arbiter, which keeps the workers, with a reload that leaves no gap."""

import signal
import sys
import time
from typing import Any

from gunicorn.arbiter import Arbiter

from api import logs
from api.ledger import DIRECTORY, Ledger
from api.settings import Settings

BEGIN_SECONDS = 10.0
"""How long the workers of before a reload go on at most while the new ones begin."""
_STEP_SECONDS = 0.02
"""Seconds between two looks at the new workers: that one serves shows in the time of its file alone, which nothing can
wait for. The master itself serves nobody, and signals stay in its queue meanwhile."""
_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)

_log = logs.logger("server")


class Master(Arbiter):
    """gunicorn's arbiter, which would stop the old workers of a reload as soon as the new ones are forked."""

    def manage_workers(self) -> None:
        """Have as many workers as there should be; before one too many is stopped, those that stay must serve."""
        if len(self.WORKERS) > self.num_workers:
            self._await_newest()
        super().manage_workers()

    def _await_newest(self) -> None:
        """Wait until those that stay serve; one of them that was killed meanwhile is replaced."""
        until = time.monotonic() + BEGIN_SECONDS
        oldest = sorted(worker.age for worker in self.WORKERS.values())[-self.num_workers]
        while time.monotonic() < until:
            staying = [worker for worker in self.WORKERS.values() if worker.age >= oldest]
            if len(staying) < self.num_workers:
                self.spawn_worker()
            elif not any(map(_begins, staying)):
                return
            time.sleep(_STEP_SECONDS)
            self.reap_workers()


def _begins(worker: Any) -> bool:
    """Tell whether a worker does not serve yet.

    Its first sign of life, once it serves, is a time since the machine's start; until then the file for that has
    the time of day at which it was made.
    """
    return bool(worker.tmp.last_update() > time.monotonic())


def leave_master(arbiter: Any, _worker: Any) -> None:
    """Let a signal to stop end a worker that is still starting.

    Until its own handlers are there the worker has the master's, which put the signal in a queue that
    nobody reads on this side of the fork; a stop would then wait for the graceful timeout.
    """
    for stop in _STOPS:
        signal.signal(stop, signal.SIG_DFL)
    while not arbiter.SIG_QUEUE.empty():
        if arbiter.SIG_QUEUE.get_nowait() in _STOPS:
            sys.exit(0)


def close_pages(settings: Settings, arbiter: Any, _worker: Any) -> None:
    """Keep the counts of workers that ended; for the master, whom no trouble with them may stop."""
    try:
        ledger_of(settings).close(arbiter.WORKERS)
    except Exception as ex:  # noqa: BLE001 - gunicorn would end the service
        _log.warning("metrics_not_kept", error=str(ex))


def ledger_of(settings: Settings) -> Ledger:
    """Where the workers of these settings write what they have counted."""
    return Ledger(settings.data / DIRECTORY)
