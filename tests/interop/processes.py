"""Processes of the counterparts: each ends with the test, also when the tests are killed."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.service import STOP_SECONDS

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "waypost-interop"
# The kernel sends the signal when the tests end in whatever way; a script has to hand it on to its own processes.
_ENDED_WITH_ITS_PARENT = ("setpriv", "--pdeathsig", "TERM")


@contextmanager
def counterpart(
    command: Sequence[str], log: Path, env: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program in the folder of its log; end it, and the processes of its group, at the end."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [*_ENDED_WITH_ITS_PARENT, *command],
            cwd=log.parent,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            process_group=0,
        )
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        _signal(process, signal.SIGTERM)
        process.wait(STOP_SECONDS)
    finally:
        _signal(process, signal.SIGKILL)
        process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:  # nothing of the group is left
        return
