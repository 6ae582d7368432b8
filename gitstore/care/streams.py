"""The streams of a backup's files: written and read once, from the beginning to the end, while their SHA-256 is computed."""

import hashlib
from typing import Protocol


class _Target(Protocol):
    def write(self, data: bytes, /) -> object: ...


class _Source(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...

    def readline(self, size: int = -1, /) -> bytes: ...


class CountedWriter:
    """A file to write to that counts its bytes."""

    def __init__(self, file: _Target) -> None:
        self._file = file
        self.size = 0
        self.digest = hashlib.sha256()

    def write(self, data: bytes) -> int:
        """Write bytes; return their number."""
        self._file.write(data)
        self.size += len(data)
        self.digest.update(data)
        return len(data)


class CheckedReader:
    """A file to read from, by lines or in chunks."""

    def __init__(self, file: _Source) -> None:
        self._file = file
        self.size = 0
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Read at most so many bytes; all that are left without a number."""
        return self._note(self._file.read(size))

    def readline(self, size: int = -1) -> bytes:
        """Read a line, or at most so many bytes of it."""
        return self._note(self._file.readline(size))

    def _note(self, data: bytes) -> bytes:
        self.size += len(data)
        self.digest.update(data)
        return data
