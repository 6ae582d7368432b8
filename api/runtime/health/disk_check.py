"""The readiness of the disks below the data directory: room for the next write, and the right to write it.

The only place that writes to find out: each second a file in each folder, without a name and without waiting for the
disk, and room on each disk; every few seconds also room in each folder, and through to each disk. `write_check` looks at the rights of single files.
"""

import asyncio
import errno
import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from api import logs
from api.data.served_data import ServedData
from api.readiness import Fault, FaultReport, Status
from api.runtime.jobs.background import run_in_thread
from api.runtime.jobs.background_task import TaskService
from gitstore.errors import is_disk_full

INTERVAL = 1.0
_SYNC_SECONDS = 10.0
_PROBE_BYTES = 1 << 20  # less room than this stops most publishes
_PROBE = ".write-check"
_FULL = Fault(
    Status.DEGRADED,
    "disk_full",
    "A disk of the data directory has no room left: reads continue, and nothing can be written.",
    "Free some space, or inodes; the service continues by itself.",
)
# Not supported: EOPNOTSUPP, or, by older kernels, EISDIR. https://man7.org/linux/man-pages/man2/open.2.html
_NO_UNNAMED_FILES = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL})

_log = logs.logger("disk_check")


class DiskState(NamedTuple):
    """The findings of one look: whether a disk is full, and the reason for which a folder refuses a write."""

    is_full: bool = False
    refused: str = ""


class DiskCheck(TaskService):
    """A background service that reports full disks, and folders that nothing can be written to."""

    def __init__(self, data: ServedData) -> None:
        super().__init__()
        self.room = FaultReport()
        self.writing = FaultReport()
        self._data = data
        self._state = DiskState()
        self._synced = DiskState()

    async def _run(self) -> None:
        synced = float("-inf")
        while True:
            begun = time.monotonic()
            syncs = begun - synced >= _SYNC_SECONDS
            synced = begun if syncs else synced
            self._note(await run_in_thread(self._look, syncs=syncs))
            self.room.end_round(begun)
            self.writing.end_round(begun)
            await asyncio.sleep(INTERVAL)

    def _look(self, *, syncs: bool) -> DiskState:
        if self._data.check() is not None:  # nothing may be written in the place of a lost directory
            return DiskState()
        found = probe_disks((self._data.parts.root, *self._data.parts.folders), syncs=syncs)
        if syncs:  # looks in between do not see all of it: the quota of one folder, an error at a sync
            self._synced = found
        return DiskState(found.is_full or self._synced.is_full, found.refused or self._synced.refused)

    def _note(self, state: DiskState) -> None:
        if state != self._state:
            _log.warning("disk_state", is_full=state.is_full, refused=state.refused)
        self._state = state
        self.room.report([_FULL] if state.is_full else [])
        self.writing.report([refused_fault(state.refused)] if state.refused else [])


def probe_disks(folders: Iterable[Path], *, syncs: bool = False) -> DiskState:
    """Write to each folder, and reserve room on each disk.

    With `syncs` reserve it in each folder, write through to each disk, and remove probes that a kill left behind.
    """
    state, disks = DiskState(), set[int]()
    for folder in folders:
        try:
            disk = folder.stat().st_dev
            if syncs:
                _remove_leftovers(folder)
            # A quota of a single folder is found with `syncs`.
            _write_probe(folder, reserves=syncs or disk not in disks, syncs=syncs and disk not in disks)
            disks.add(disk)
        except FileNotFoundError:  # a lost folder has its own check
            continue
        except OSError as ex:
            full = is_disk_full(ex)
            state = DiskState(state.is_full or full, state.refused if full else ex.strerror or str(ex))
    return state


def refused_fault(reason: str) -> Fault:
    """Return the fault that the service may not write, or that the disk fails."""
    return Fault(
        Status.DEGRADED,
        "cannot_write",
        f"The service cannot write to its data directory ({reason}), so edits and publishes fail.",
        "Make the file system writable, and give all files in the data directory to the service's user (chown -R).",
    )


def _write_probe(folder: Path, *, reserves: bool = True, syncs: bool = False) -> None:
    """Create a file without a name, which leaves nothing behind, not even after a kill; and reserve room for it."""
    try:
        handle = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError as ex:
        if ex.errno not in _NO_UNNAMED_FILES:
            raise
        handle, name = tempfile.mkstemp(prefix=f"{_PROBE}-", dir=folder)
        Path(name).unlink(missing_ok=True)
    try:
        if reserves:
            os.posix_fallocate(handle, 0, _PROBE_BYTES)
        if syncs:
            os.write(handle, b"0")
            os.fsync(handle)
    finally:
        os.close(handle)


def _remove_leftovers(folder: Path) -> None:
    """Remove named probes; those of another worker are needed by no one after they were opened."""
    for left in folder.glob(f"{_PROBE}-*"):
        with suppress(OSError):
            left.unlink()
