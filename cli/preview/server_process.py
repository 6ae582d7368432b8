"""The process that serves a preview: the same server as `waypost serve`, which ends with the process of the command."""

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from multiprocessing.connection import wait

from api.app.composition import make_service
from api.data.preview import Preview
from api.data.served_data import ServedData
from api.runtime.rate_counters import RateCounters
from api.server.server import serve
from cli.server.listener import Listener, answers

_STOP_SECONDS = 2.0
_STEP_SECONDS = 0.02
_START_SECONDS = 60.0


class ServerProcess:
    """The server of a preview in a process group of its own, so that Ctrl-C reaches only the command, which stops it."""

    def __init__(self, listener: Listener, data: ServedData, preview: Preview, lock: int) -> None:
        self._listener = listener
        run = partial(_serve, listener, data, preview, lock)
        self._process = multiprocessing.get_context("fork").Process(target=run, name="preview server")

    def start(self) -> None:
        """Start to serve."""
        self._process.start()

    @property
    def is_alive(self) -> bool:
        """False after the server has ended, which it does only after an error."""
        return self._process.is_alive()

    def wait_until_ready(self) -> bool:
        """Wait until the service answers; false if it has ended."""
        for _ in range(int(_START_SECONDS / _STEP_SECONDS)):
            if answers(self._listener):
                return True
            self._process.join(_STEP_SECONDS)
            if not self._process.is_alive():
                break
        return False

    def stop(self) -> None:
        """Stop the server and all its processes at once: nothing of a preview has to be kept."""
        if self._process.pid is None:
            return
        self._signal(signal.SIGINT, os.kill)
        self._process.join(_STOP_SECONDS)
        self._signal(signal.SIGKILL, os.killpg)
        self._process.join()

    def _signal(self, number: int, send: Callable[[int, int], None]) -> None:
        with suppress(ProcessLookupError, PermissionError):  # it has ended; macOS refuses signals to ended groups
            send(self._process.pid or 0, number)


def _serve(listener: Listener, data: ServedData, preview: Preview, lock: int) -> None:
    os.setpgid(0, 0)
    os.close(lock)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    _leave_out_expected_errors()
    settings = listener.settings
    serve(settings, partial(make_service, settings, data, RateCounters(), preview))


def _end_with(sentinel: int) -> None:
    """End all processes of the server when the command has ended, also if it was killed."""
    wait([sentinel])
    os.killpg(0, signal.SIGKILL)


def _leave_out_expected_errors() -> None:
    """Log no 503 of a folder that has errors: the terminal shows the problems, and agents ask all the time."""
    for name in ("waypost.api", "waypost.request"):
        logging.getLogger(name).addFilter(_is_unexpected)


def _is_unexpected(record: logging.LogRecord) -> bool:
    event = record.msg if isinstance(record.msg, dict) else {}
    return event.get("error") != "preview_not_served" and event.get("status") != HTTPStatus.SERVICE_UNAVAILABLE
