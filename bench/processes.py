"""Processor time and memory of a process, from /proc."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_KIB = 1024


def processor_seconds(pid: int) -> float:
    """Return the seconds of processor time of a process, with all its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def private_megabytes(pid: int) -> float:
    """Return the megabytes of private memory of a process."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    kibibytes = (int(line.split()[1]) for line in lines if line.startswith(("Private_Clean:", "Private_Dirty:")))
    return sum(kibibytes) * _KIB / 1e6
