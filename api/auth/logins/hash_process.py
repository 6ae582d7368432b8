"""The process that computes the password hashes of one worker, with a lower priority than it.

A hash takes a core for 31 ms. In a thread of the worker, that core is missing for the event loop, and so for the polls of
agents; this process gives it back at once, since it hashes in idle time as long as there is enough of that. It knows
nothing but the hashes and passwords that it is sent, ends with its worker, and is replaced if it was killed.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import Any

from api.auth.logins.idle_time import IdleTime
from api.auth.logins.passwords import HashingHere
from api.errors import Unavailable

# As that of the jobs: on a machine without an idle core, hashing still gets a quarter of what a worker gets.
NICENESS = 5
_PATIENCE = 30.0  # seconds for one hash; on an idle machine it takes 0.03
_ATTEMPTS = 2
_END_SECONDS = 5.0  # for the end of the process, which computes its last hash first


class HashProcess:
    """Hashing in a separate process, one hash at a time; it starts at the first one."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        self._patience = patience
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The id of the process; 0 if there is none."""
        return self._process.pid if self._process else 0

    def hash(self, password: str) -> str:
        """Return the hash of a password; Unavailable if the process does not answer."""
        password.encode()  # the error of one that cannot be encoded is raised here
        return str(self._ask(password=password))

    def verify(self, stored: str, password: str) -> bool:
        """Return whether a password matches a stored hash; Unavailable if the process does not answer."""
        return bool(self._ask(password=password, stored=stored))

    def close(self) -> None:
        """End the process, after the hash that it computes."""
        with self._turn:
            self._end()

    def _ask(self, **question: str) -> str | bool:
        """Send a question and return the answer; a hash changes nothing, so it may be asked for again."""
        line = json.dumps(question).encode() + b"\n"
        with self._turn:
            if self._process is not None and self._process.poll() is not None:  # it was killed since the last hash
                self._end()
            for _ in range(_ATTEMPTS):
                with suppress(OSError, ValueError):  # the process was killed during this hash
                    answer: str | bool = json.loads(self._exchange(line))
                    return answer
                self._end()
        raise Unavailable("The process that checks passwords does not answer. Try again.", "worker_lost")

    def _exchange(self, line: bytes) -> bytes:
        process = self._process = self._process or _start()
        stdin, stdout = _pipes(process)
        stdin.write(line)
        if not select.select([stdout], [], [], self._patience)[0]:
            process.kill()
            raise TimeoutError
        return bytes(stdout.readline())

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(OSError):
                _pipes(process)[0].close()  # its end of the input is its end
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:  # it was stopped, or gets no core
                process.kill()
                process.wait()
            _pipes(process)[1].close()


def _start() -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    # -P: it gets passwords, so it takes no module from the working directory
    command = [sys.executable, "-P", "-m", "api.auth.logins.hash_process"]
    return subprocess.Popen(  # noqa: S603 - this module in this interpreter
        command, bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )


def _pipes(process: subprocess.Popen[bytes]) -> tuple[Any, Any]:
    return process.stdin, process.stdout


def main() -> None:
    """Answer questions, one a line, until the worker ends."""
    for number in (signal.SIGINT, signal.SIGTERM):  # sent to a whole group; the worker has logins to finish
        signal.signal(number, signal.SIG_IGN)
    os.nice(NICENESS)
    idle_time = IdleTime(_answer)
    for line in sys.stdin.buffer:
        sys.stdout.buffer.write(idle_time.run(line) + b"\n")
        sys.stdout.buffer.flush()


def _answer(line: bytes) -> bytes:
    """Return the answer to a question."""
    question, here = json.loads(line), HashingHere()
    found = here.verify(**question) if "stored" in question else here.hash(question["password"])
    return json.dumps(found).encode()


if __name__ == "__main__":
    main()
