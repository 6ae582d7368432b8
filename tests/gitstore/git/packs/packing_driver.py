"""Packing in processes that are killed, or that have no space left; run as a program.

It takes the path of a repository for each line of its input, with the number of the change on disk before which the
process is killed, or 0, and the most bytes of a file, or 0. It prints the exit code of each process, negative for a signal.
"""

import json
import os
import resource
import signal
import sys
from pathlib import Path

from gitstore.errors import StoreError
from gitstore.git.packs.packing import hold_packing, pack_loose
from gitstore.git.packs.pruning import prune

_CHANGES = frozenset({"open", "os.rename", "os.remove", "os.chmod", "os.utime", "os.truncate"})
_DONE, _FAILED = 0, 1


def run(repository: Path, kill_at: int = 0, most_bytes: int = 0) -> int:
    """Pack and prune a repository in a child; return its exit code."""
    child = os.fork()
    if child == 0:
        os._exit(_work(repository, kill_at, most_bytes))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _work(repository: Path, kill_at: int, most_bytes: int) -> int:
    if kill_at:
        _kill_at(kill_at)
    if most_bytes:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails instead
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    try:
        with hold_packing(repository) as is_held:
            assert is_held
            pack_loose(repository)
            prune(repository)
    except (StoreError, OSError):
        return _FAILED
    return _DONE


def _kill_at(number: int) -> None:
    left = number

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        is_read = event == "open" and arguments[1] in {"r", "rb"}
        left -= event in _CHANGES and not is_read
        if left == 0:
            left = -1  # the signal is an event too
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


if __name__ == "__main__":
    for line in sys.stdin:
        path, at, most = json.loads(line)
        print(run(Path(path), at, most), flush=True)  # noqa: T201 - its output
