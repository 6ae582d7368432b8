"""The readiness of the disks below the data directory: space and inodes for the next write."""

import errno
import os
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from api.readiness import Fault, ReadyCheck, Status
from gitstore.errors import is_disk_full
from gitstore.git.atomic_io import TEMPORARY_PREFIX

_PROBE_BYTES = 1 << 20  # less room than this stops most publishes
_FOLDERS = (".", "repos", "compiled")  # each of them may be a disk of its own
_FULL = Fault(
    Status.DEGRADED,
    "disk_full",
    "A disk of the data directory has no room left: reads continue, and nothing can be written.",
    "Free some space, or inodes; the service continues by itself.",
)
# Not supported: EOPNOTSUPP, or, by older kernels, EISDIR. https://man7.org/linux/man-pages/man2/open.2.html
_NO_UNNAMED_FILES = frozenset({errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL})


def disk_check(data: Path) -> ReadyCheck:
    """Create the check that there is room on every disk of a data directory."""
    return ReadyCheck("disk", lambda: find_full_disks(data / folder for folder in _FOLDERS))


def find_full_disks(folders: Iterable[Path]) -> Sequence[Fault]:
    """Return a fault if one of the folders has no room; other errors are for the checks of those folders."""
    disks = {folder.stat().st_dev: folder for folder in folders if folder.is_dir()}
    return [_FULL] if any(_is_full(folder) for folder in disks.values()) else []


def _is_full(folder: Path) -> bool:
    try:
        _write_probe(folder)
    except OSError as ex:
        return is_disk_full(ex)
    return False


def _write_probe(folder: Path) -> None:
    """Reserve room in a file without a name, which leaves nothing behind, not even after a kill."""
    try:
        handle = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError as ex:
        if ex.errno not in _NO_UNNAMED_FILES:
            raise
        handle, name = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, dir=folder)
        Path(name).unlink()
    try:
        os.posix_fallocate(handle, 0, _PROBE_BYTES)
    finally:
        os.close(handle)
