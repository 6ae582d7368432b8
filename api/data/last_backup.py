"""The record of the last good backup of a data directory, and its age."""

import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import orjson

from gitstore.git.atomic_io import replace_file, sync_directory

RECORD = "last-backup.json"


class LastBackup(NamedTuple):
    """A complete backup: the time at which it began, in seconds since 1970, its path, and whether it was restored for a test."""

    began_at: float
    path: str
    verified: bool

    @property
    def age(self) -> float:
        """The age in seconds."""
        return max(0.0, time.time() - self.began_at)


def read_last_backup(data: Path) -> LastBackup | None:
    """Return the last good backup; None if none was made since the directory was created or restored."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        found = orjson.loads((data / RECORD).read_bytes())
        return LastBackup(float(found["beganAt"]), str(found["path"]), bool(found["verified"]))
    return None


def write_last_backup(data: Path, backup: LastBackup) -> None:
    """Record a good backup, durably."""
    facts = {"beganAt": backup.began_at, "path": backup.path, "verified": backup.verified}
    replace_file(data / RECORD, orjson.dumps(facts, option=orjson.OPT_INDENT_2) + b"\n")
    sync_directory(data)
