"""The process of a worker that forks its processes for jobs, so that each starts in milliseconds with all modules loaded.

A fork of the worker itself could deadlock, since it has threads
(https://docs.python.org/3/library/multiprocessing.html#contexts-and-start-methods). So a copy of it is made before its
threads start, which waits, has no threads, and forks whenever it is asked. Where there is no such copy, as in a test or
after it was killed, a new interpreter that imports the same modules takes its place.
"""

import atexit
import gc
import importlib
import json
import logging
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from api import logs
from api.runtime.jobs.job_runner import serve_jobs
from api.runtime.jobs.memory import return_large_blocks

# Above the worker's: on a busy core, a job takes a quarter of the time, and polls wait for it a third less (measured with
# two busy processes on two cores). A job alone on its core takes as long as before.
_NICENESS = 5
# Collections of the middle generation before one of all objects, which takes 70 ms, three times a small publish. An idle
# process makes one.
_MIDDLE_PER_WHOLE = 100
_ASK = b"f"
# The signals that mean something to a worker, and nothing to its processes.
_OF_WORKERS = (signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_PACKAGES = ("api", "content", "gitstore", "schemas")


class ForkServer:
    """The fork server of this process."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._control: socket.socket | None = None
        self._pid = self._parent = 0
        self._started: subprocess.Popen[bytes] | None = None  # if it is no copy of this process

    def start(self) -> None:
        """Start it as a copy of this process, which must have no threads yet."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                pid = os.fork()
            except OSError:
                ours.close()
                raise
            if pid == 0:
                _run_as_copy(theirs, ours)
        self._control, self._pid, self._parent = ours, pid, os.getpid()

    def fork(self) -> socket.socket:
        """Return a connection to a new process for jobs; it ends at once if the process cannot be forked."""
        ours, theirs = socket.socketpair()
        with theirs, self._turn:
            if not self._ask(theirs):
                self._restart()
                self._ask(theirs)
        return ours

    def close(self) -> None:
        """End it, also one that does not answer; the processes that it has forked go on."""
        with self._turn:
            self._end()

    def _ask(self, end: socket.socket) -> bool:
        """Have a process forked that has this end of a connection; false if there is no server."""
        if self._control is None:
            return False
        try:
            socket.send_fds(self._control, [_ASK], [end.fileno()])
        except OSError:  # it was killed
            return False
        return True

    def _restart(self) -> None:
        """Start it as a new interpreter."""
        self._end()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._started = _start_interpreter(theirs.fileno())
        self._pid, self._parent = self._started.pid, os.getpid()
        atexit.unregister(self.close)
        atexit.register(self.close)

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._parent == os.getpid():  # not of the process that this one was forked from
            # One that is stopped, or waits for a disk, would be waited for without an end. Its number is its own until then.
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            if self._started is not None:
                self._started.wait()
            else:
                os.waitpid(self._pid, 0)
        self._started, self._pid, self._parent = None, 0, 0


fork_server = ForkServer()  # of this process


def _start_interpreter(control: int) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-m", __name__, str(control), logging.getLevelName(logging.root.level)]
    modules = [name for name in sys.modules if name.partition(".")[0] in _PACKAGES]
    started = subprocess.Popen(  # noqa: S603 - this module in this interpreter
        command, env=environment, stdin=subprocess.PIPE, pass_fds=[control]
    )
    if started.stdin is not None:
        with suppress(OSError), started.stdin as stdin:  # it has ended: the next request starts another
            stdin.write(json.dumps(modules).encode())
    return started


def _run_as_copy(control: socket.socket, of_worker: socket.socket) -> NoReturn:
    """Be the fork server in a copy of a process: nothing of that process goes on here, not even if this fails."""
    try:
        of_worker.close()
        _reset_signals()
        _close_listeners()
        _serve(control)
    except BaseException:  # noqa: BLE001 - the frames below belong to the other process
        traceback.print_exc()
    finally:
        os._exit(1)


def _reset_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)


def _close_listeners() -> None:
    """Put an empty file in the place of each socket that accepts connections: the port is free once the workers end."""
    empty = os.open(os.devnull, os.O_RDWR)
    for number in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        with suppress(OSError):  # that of the list itself
            if stat.S_ISSOCK(os.fstat(number).st_mode) and _accepts(number):
                os.dup2(empty, number, inheritable=False)


def _accepts(number: int) -> bool:
    with socket.socket(fileno=os.dup(number)) as found:
        return bool(found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))


def _serve(control: socket.socket) -> NoReturn:
    """Fork a process for each connection that arrives, until the worker has ended."""
    # They are sent to a whole group, by a terminal or a service manager; the worker ends its jobs in order:
    # https://man7.org/linux/man-pages/man3/termios.3.html
    for number in (signal.SIGINT, *_OF_WORKERS):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel forgets children that have ended
    os.nice(_NICENESS)
    return_large_blocks()
    gc.set_threshold(*gc.get_threshold()[:2], _MIDDLE_PER_WHOLE)
    gc.freeze()
    _set_name("waypost-forks")
    while True:
        message, ends, _, _ = socket.recv_fds(control, 1, 1)
        if not message:
            os._exit(0)
        for end in ends:
            _fork(control, end)


def _fork(control: socket.socket, end: int) -> None:
    try:
        is_child = os.fork() == 0
    except OSError as ex:  # too many processes, or no memory: the end of the connection tells the worker
        logs.logger("jobs").error("job_process_not_forked", error=str(ex))
        is_child = False
    if is_child:
        control.close()
        os.set_inheritable(end, False)  # noqa: FBT003 - no keywords. A received file is inherited, unlike all others of Python
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number in _OF_WORKERS:  # not ignored: a program that a job starts would inherit that
            signal.signal(number, lambda _number, _frame: None)
        _set_name("waypost-jobs")
        serve_jobs(socket.socket(fileno=end))
    os.close(end)


def _set_name(name: str) -> None:
    """Set the name that `ps` and `top` show, of up to 15 characters."""
    with suppress(OSError):
        Path("/proc/self/comm").write_text(name, encoding="ascii")


def main() -> NoReturn:
    """Be the fork server as a new interpreter: import what the worker has imported, then serve."""
    control, level = sys.argv[1:]
    os.environ.pop("PYTHONPATH")  # for this interpreter, not for what its jobs start
    os.set_inheritable(int(control), False)  # noqa: FBT003 - no keywords
    logs.configure(level)
    for name in json.load(sys.stdin):
        with suppress(ImportError):  # the job that needs it meets the error
            importlib.import_module(name)
    _serve(socket.socket(fileno=int(control)))


if __name__ == "__main__":
    main()
