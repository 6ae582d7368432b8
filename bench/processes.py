"""Processor time, memory and transferred bytes of a process, from /proc."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tests.service import child_pids

_TICKS = os.sysconf("SC_CLK_TCK")
_KIB = 1024


def processor_seconds(pid: int) -> float:
    """Return the seconds of processor time of a process, with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


class Delay(NamedTuple):
    """Seconds in which the threads of some processes ran, and in which they were ready but waited for a core."""

    ran: float
    waited: float


def scheduling(pids: Iterable[int]) -> Delay:
    """Return both sums for all threads that these processes have now; a process that has ended counts as nothing."""
    found = [_schedstat(thread) for pid in pids for thread in Path("/proc").glob(f"{pid}/task/*/schedstat")]
    return Delay(*(sum(column) / 1e9 for column in zip((0, 0), *found, strict=True)))


def _schedstat(path: Path) -> tuple[int, int]:
    # https://docs.kernel.org/scheduler/sched-stats.html (`/proc/<pid>/schedstat`), in nanoseconds
    with suppress(OSError):
        ran, waited, _ = path.read_text(encoding="ascii").split()
        return int(ran), int(waited)
    return 0, 0


def descendants(pid: int) -> set[int]:
    """Return the processes that a process has started, and theirs."""
    children = child_pids(pid)
    return children.union(*map(descendants, children))


def private_megabytes(pid: int) -> float:
    """Return the megabytes of private memory of a process."""
    return _megabytes(pid, "Private_Clean:", "Private_Dirty:")


def proportional_megabytes(pid: int) -> float:
    """Return the megabytes of a process, with its share of what it has in common with others; 0 once it has ended."""
    with suppress(OSError):
        return _megabytes(pid, "Pss:")
    return 0.0


def _megabytes(pid: int, *fields: str) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(fields)) * _KIB / 1e6


def transferred(pid: int | str) -> Mapping[str, int]:
    """Return the bytes that a process has read and written so far, by kind; nothing once it has ended.

    `rchar` and `wchar` count the system calls, `read_bytes` and `write_bytes` what went from and to a disk.
    """
    # https://man7.org/linux/man-pages/man5/proc_pid_io.5.html
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/io").read_text(encoding="ascii").splitlines()
        return {name: int(value) for name, value in (line.split(": ") for line in lines)}
    return {}
