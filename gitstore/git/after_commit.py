"""Work after a commit point: its failures are logged and never raised, since the change is made."""

import logging
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gitstore.git.atomic_io import sync_directory

_log = logging.getLogger("waypost.gitstore")


@contextmanager
def after_commit(description: str) -> Iterator[None]:
    """Run work that cannot undo a change that is made; a failure of it, of any kind, is logged.

    `description` completes the sentence "The change was made; … failed".
    """
    try:
        yield
    except Exception as ex:  # noqa: BLE001 - the change is made: no failure may be answered instead of it
        report_tolerated(description, ex)


def sync_after_commit(*folders: Path) -> None:
    """Make the names in these folders durable; if one cannot be synced, sync all file systems instead."""
    try:
        for folder in folders:
            sync_directory(folder)
    except OSError as ex:
        os.sync()  # needs neither a descriptor nor space
        report_tolerated(f"syncing {folders[0].name}", ex)


def report_tolerated(description: str, ex: BaseException) -> None:
    """Log a failure after a commit point, in one line: a command shows it too."""
    frames = traceback.extract_tb(ex.__traceback__)[-1:]
    place = "".join(f" ({Path(frame.filename).name}:{frame.lineno})" for frame in frames)
    _log.warning("The change was made; %s failed: %s: %s%s", description, type(ex).__name__, ex, place)
