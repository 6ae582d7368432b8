"""The data directory that a service serves, recognized while it runs: a lost one is never taken for an empty one.

The master opens it before the first fork, so every worker knows the identity, also a worker that is started while the
directory is away. An open handle of each part keeps its inode from being used again, so that device and inode of a path
show whether it is still the same part; only a replaced part costs a read of its identity.
"""

import os
import stat
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from api.data.identity import FOLDER_FILE, read_identity
from api.data.parts import DataParts, has_keys, is_database
from api.errors import Unavailable
from api.readiness import Fault, ReadyCheck, Status

RETRY_SECONDS = 1
_HANDLE = os.O_PATH | os.O_CLOEXEC


class DataLost(Unavailable):
    """503: the data directory, or a part of it, is missing or was replaced."""

    code = "data_unavailable"

    def __init__(self, fault: str) -> None:
        super().__init__(f"The data of this service is not available: {fault}.", self.code, RETRY_SECONDS)


class ServedData:
    """The parts of one data directory; safe to use from several threads."""

    fault: str | None = None
    """The last finding: the missing or replaced part, None if all are there. Reading it costs no system call."""

    def __init__(self, parts: DataParts, identity: str) -> None:
        self.parts = parts
        self._lock = threading.Lock()
        self._listeners: tuple[Callable[[], object], ...] = ()
        self._watched = tuple(_watch(parts, identity))

    def check(self) -> str | None:
        """Look for each part on disk, remember the fault and return it; about 20 microseconds while nothing changed."""
        with self._lock:
            fault = next((fault for part in self._watched if (fault := part.find_fault())), None)
            if self.fault is not None and fault is None:
                for listener in self._listeners:
                    listener()
            self.fault = fault
            return fault

    def recognize_unmarked(self) -> None:
        """Take the folders without an identity as they are now: at a start on a full disk it could not be written."""
        with self._lock:
            for part in self._watched:
                part.recognize_unmarked()

    def listen(self, listener: Callable[[], object]) -> None:
        """Add a listener for the return of lost parts; it is called in any thread, and returns at once."""
        self._listeners = (*self._listeners, listener)

    def require(self) -> None:
        """Raise DataLost unless every part is there."""
        fault = self.check()
        if fault:
            raise DataLost(fault)


class _Part(ABC):
    """A part as it was when it was last recognized."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._stamp: tuple[int, ...] = ()
        self._handle = -1

    def find_fault(self) -> str | None:
        """Return the fault of this part, None if it is there."""
        try:
            found = os.stat(self._path)  # noqa: PTH116 - called for every request that is not a plain read
            if self._stamp_of(found) == self._stamp:
                return None
            if not self._is_same():
                return f"{self._name} was replaced by another or an empty one"
            self._hold(found)
        except (FileNotFoundError, NotADirectoryError):
            return f"{self._name} is missing"
        except OSError as ex:
            return f"{self._name} cannot be read ({ex.strerror})"
        return None

    def recognize_unmarked(self) -> None:  # noqa: B027 - a part without an identity has nothing to do
        """Take this part as it is if it should have an identity, but has none."""

    def _hold(self, found: os.stat_result) -> None:
        """Remember the part on disk, with a handle to it."""
        earlier, self._handle = self._handle, os.open(self._path, _HANDLE)
        self._stamp = self._stamp_of(found)
        if earlier >= 0:
            os.close(earlier)

    def _stamp_of(self, found: os.stat_result) -> tuple[int, ...]:
        return found.st_dev, found.st_ino

    @abstractmethod
    def _is_same(self) -> bool:
        """Return whether what is at the path now is the part that was served."""


class _Folder(_Part):
    """A folder that has a file with the identity."""

    def __init__(self, path: Path, name: str, file: Path, identity: str) -> None:
        super().__init__(path, name)
        self._file = file
        self._identity = identity

    def recognize_unmarked(self) -> None:
        with suppress(OSError):  # a part that is away is found by the next check
            if not read_identity(self._file):
                self._hold(self._path.stat())

    def _is_same(self) -> bool:
        return read_identity(self._file) == self._identity


class _Keys(_Folder):
    """The folder of keys, which has at least one; looked into again when a file was added or removed."""

    def _stamp_of(self, found: os.stat_result) -> tuple[int, ...]:
        return found.st_dev, found.st_ino, found.st_mtime_ns

    def _is_same(self) -> bool:
        return super()._is_same() and has_keys(self._path)


class _DatabaseFile(_Part):
    """The file of the database; another file in its place may be a restored backup, but is never empty."""

    def _stamp_of(self, found: os.stat_result) -> tuple[int, ...]:
        return found.st_dev, found.st_ino, int(stat.S_ISREG(found.st_mode) and found.st_size > 0)

    def _is_same(self) -> bool:
        return is_database(self._path)


def data_check(served: ServedData) -> ReadyCheck:
    """Create the readiness check that no part is lost."""
    return ReadyCheck("data", lambda: [_as_fault(text)] if (text := served.check()) else [])


def _as_fault(text: str) -> Fault:
    return Fault(
        Status.UNAVAILABLE,
        DataLost.code,
        f"The data of this service is not available: {text}.",
        "Mount or restore it. The service continues by itself when the same data is back; to accept other data, restart it.",
    )


def _watch(parts: DataParts, identity: str) -> Iterator[_Part]:
    yield _Folder(parts.root, "the data directory", parts.identity, identity)
    for folder in parts.folders:
        kind = _Keys if folder == parts.keys else _Folder
        yield kind(folder, f"{folder.name}/ in the data directory", folder / FOLDER_FILE, identity)
    if parts.database is not None:
        yield _DatabaseFile(parts.database, "the file of the database")
