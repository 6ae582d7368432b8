"""Bytes for a job that are not kept: neither the worker nor the job holds what it has passed on."""

from collections import deque
from collections.abc import Callable, Iterator

_CHUNK = 1 << 20


class Handover:
    """Bytes that can be read once: pickled, they are in the other process; read in chunks, they are with the reader."""

    def __init__(self, data: bytes) -> None:
        self._data: bytes | None = data

    def __reduce__(self) -> "tuple[Callable[[bytes], Handover], tuple[bytes]]":
        return Handover, (self._take(),)

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes from the start; each chunk is forgotten here."""
        data = self._take()
        found = deque(data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK))
        del data
        while found:
            yield found.popleft()

    def _take(self) -> bytes:
        data, self._data = self._data, None
        if data is None:
            raise ValueError("the bytes have been passed on already")
        return data
