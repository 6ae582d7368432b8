"""The other side of a job process: does the jobs that a connection brings, one at a time, until the connection ends."""

import os
import pickle
import select
import socket
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

T = TypeVar("T")

_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Failure:
    """The parts of an exception, passed between processes instead of the exception itself.

    Pickle calls an exception's class with its `args`, and fails for a class with other arguments
    (https://bugs.python.org/issue32696).
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
class Done(Generic[T]):
    """The result of a job or its failure, and the memory of the process afterwards, in bytes."""

    result: T | Failure
    memory: int

    def unwrap(self) -> T:
        """Return the result, or raise the exception of the job."""
        if isinstance(self.result, Failure):
            raise self.result.rebuild()
        return self.result


def serve_jobs(own: socket.socket) -> NoReturn:
    """Send the id of this process, then do each job that arrives and send back what it gave."""
    threading.Thread(target=_exit_with, args=(own.fileno(),), name="parent-watch", daemon=True).start()
    connection = Connection(own.detach())
    try:
        connection.send(os.getpid())
        while True:
            connection.send_bytes(_answer(connection.recv_bytes()))
    except (EOFError, OSError):
        os._exit(0)


def _answer(pickled: bytes) -> memoryview:
    """Do a job, which is a call of `run_job`, and return its pickled result or failure."""
    try:
        call: Callable[[], Done[Any]] = pickle.loads(pickled)  # noqa: S301 - from the worker that this process belongs to
        return ForkingPickler.dumps(call())
    except Exception as ex:  # noqa: BLE001 - an object that cannot be sent is an error of the job
        return ForkingPickler.dumps(Done(_failure(ex), _own_memory()))


def run_job(work: Callable[[], T]) -> Done[T]:
    """Do a job in this process, whatever it raises."""
    try:
        result: T | Failure = work()
    except Exception as ex:  # noqa: BLE001 - every failure is raised again for the caller in the other process
        result = _failure(ex)
    return Done(result, _own_memory())


def _failure(ex: Exception) -> Failure:
    return Failure(type(ex), ex.args, dict(ex.__dict__), traceback.format_exc())


def _own_memory() -> int:
    # the second and third numbers are the resident set, and the part of it that is in files, in pages. Maps of compiled
    # files are there once for all processes: https://man7.org/linux/man-pages/man5/proc_pid_statm.5.html
    resident, in_files = map(int, Path("/proc/self/statm").read_text(encoding="ascii").split()[1:3])
    return (resident - in_files) * _PAGE


def _exit_with(connection: int) -> None:
    """End this process in the middle of a job when the worker has closed the connection or has ended for any reason."""
    watched = select.poll()
    watched.register(connection, select.POLLRDHUP)
    watched.poll()
    os._exit(1)
