"""Findings of a check: the file or object that is broken, what that means, what to do, and the repair if there is one."""

import os
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from gitstore.git.atomic_io import sync_directory

REMOVED = "removed"
"""The folder of a data directory for the files that repairs have replaced or removed."""


class Severity(StrEnum):
    """The weight of a finding: an error loses or stops something, a warning may, a note is for information."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class RemovedFiles:
    """The folder for all that one run takes away: nothing is erased."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.folder = root / REMOVED / time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())

    def move(self, path: Path) -> Path:
        """Move a file or folder into the folder, at the same path as in the data directory; return the new path."""
        target = self._target(path)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.move(path, target)
        self._sync(target, path)
        return target

    def copy(self, path: Path) -> Path:
        """Copy a file that is about to be changed in its place; return the path of the copy."""
        target = self._target(path)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.copy2(path, target)
        with target.open("rb") as file:
            os.fsync(file.fileno())
        self._sync(target, path)
        return target

    def _target(self, path: Path) -> Path:
        inside = path.relative_to(self._root) if path.is_relative_to(self._root) else Path(*path.absolute().parts[1:])
        target, number = self.folder / inside, 1
        while target.exists() or target.is_symlink():
            number += 1
            target = target.with_name(f"{inside.name}.{number}")
        return target

    @staticmethod
    def _sync(*paths: Path) -> None:
        for path in paths:
            with suppress(OSError):
                sync_directory(path.parent)


Fix = Callable[[RemovedFiles], str]
"""A repair; it returns a sentence on what it did. Raises StoreError or OSError where it cannot be done now."""


@dataclass(slots=True)
class Finding:
    """One finding. `place` is the file or object; `fixed` is what a repair did, `failed` why it could not."""

    severity: Severity
    code: str
    place: str
    meaning: str
    action: str
    namespace: str = ""
    fix: Fix | None = field(default=None, repr=False)
    fixed: str = ""
    failed: str = ""

    @property
    def is_open(self) -> bool:
        """True for an error or a warning that no repair has removed."""
        return self.severity is not Severity.NOTE and not self.fixed

    def to_json(self) -> dict[str, object]:
        """Return the fields for a script."""
        return {
            "severity": self.severity.value,
            "code": self.code,
            "namespace": self.namespace or None,
            "place": self.place,
            "meaning": self.meaning,
            "action": self.action,
            "canFix": self.fix is not None,
            "fixed": self.fixed or None,
            "failed": self.failed or None,
        }
