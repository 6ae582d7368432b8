"""Work in the time that nothing else on the machine wants, with a way back where there is none of it.

A process of Linux's class for that cannot leave it again without a privilege
(https://man7.org/linux/man-pages/man7/sched.7.html), and waits without an end where all cores are busy. So a copy of the
process works there, and is ended if it takes too long; then the process works itself, for a while without another try.
"""

import os
import select
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

_PATIENCE = 0.25  # seconds for one piece of work in idle time
_BUSY_SECONDS = 5.0  # without another try in idle time, after there was too little
# Of a question and an answer: a password has up to 1 KiB, and JSON up to six bytes for each of its characters.
_MOST_BYTES = 1 << 16


class IdleTime:
    """The idle time of the machine: work in it delays nothing else, not even for one turn of the scheduler.

    The process must have no threads.
    """

    def __init__(
        self, work: Callable[[bytes], bytes], patience: float = _PATIENCE, busy_seconds: float = _BUSY_SECONDS
    ) -> None:
        self._work = work
        self._patience = patience
        self._busy_seconds = busy_seconds
        self._busy_until = 0.0
        self._copy: tuple[int, socket.socket] | None = None

    def run(self, question: bytes) -> bytes:
        """Return what the work returns for a question, from idle time if there is enough of it."""
        if time.monotonic() < self._busy_until:
            return self._work(question)
        found = b""
        with suppress(OSError):  # no process could be forked, or it was killed
            found = self._ask(question)
        if not found:
            self._end()
            self._busy_until = time.monotonic() + self._busy_seconds
        return found or self._work(question)

    def _ask(self, question: bytes) -> bytes:
        _, connection = self._copy = self._copy or self._start()
        connection.send(question)
        is_done = select.select([connection], [], [], self._patience)[0]
        return connection.recv(_MOST_BYTES) if is_done else b""

    def _start(self) -> tuple[int, socket.socket]:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                pid = os.fork()
            except OSError:  # too many processes, or no memory
                ours.close()
                raise
            if pid == 0:
                ours.close()
                _work_when_idle(theirs, self._work)
        return pid, ours

    def _end(self) -> None:
        copy, self._copy = self._copy, None
        if copy:
            pid, connection = copy
            connection.close()
            os.kill(pid, signal.SIGKILL)  # it may have been stopped, or have no core
            os.waitpid(pid, 0)


def _work_when_idle(connection: socket.socket, work: Callable[[bytes], bytes]) -> NoReturn:
    """Answer questions in idle time, until the process that was copied ends."""
    try:
        for number in (0, 1):  # those of that process: who waits for its answer sees at once if it is killed
            os.close(number)
        with suppress(OSError):  # a sandbox may refuse it: then with the priority of the process
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        while question := connection.recv(_MOST_BYTES):
            connection.send(work(question))
    finally:
        os._exit(0)
