"""Windows of lists, compressed once a version and kept, for those who ask for gzip."""

import zlib
from collections import OrderedDict
from functools import lru_cache
from threading import Lock
from typing import NamedTuple

from api.parameters import Window
from content.vocabulary import Kind
from gitstore.release import Release

MIN_SIZE = 1024
"""Bytes below which compressing costs more than it saves."""
_KEPT_BYTES = 32 * 1024 * 1024
_KEPT_HEADERS = 128
_LEVEL = 6
_GZIP = 31
"""zlib's window bits for a gzip header; it writes no time, so the same window gives the same bytes."""


class _Key(NamedTuple):
    release: int
    kind: Kind
    window: Window


class Compressed:
    """The compressed windows of one worker, the least recently used ones going first. Safe in several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[_Key, tuple[Release, bytes]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, release: Release, kind: Kind, window: Window) -> bytes | None:
        """A window that was compressed before."""
        with self._lock:
            found = self._kept.get(_Key(id(release), kind, window))
            if found is None:
                return None
            self._kept.move_to_end(_Key(id(release), kind, window))
            return found[1]

    def add(self, release: Release, kind: Kind, window: Window, body: tuple[bytes | memoryview, ...]) -> None:
        """Compress a window's body and keep it; runs in a thread, for which zlib makes room."""
        squeezer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        data = b"".join([*(squeezer.compress(part) for part in body), squeezer.flush()])
        with self._lock:
            # The release is kept with the bytes, so that its id cannot come to mean another one.
            self._kept[_Key(id(release), kind, window)] = (release, data)
            self._size = sum(len(kept) for _, kept in self._kept.values())
            while self._size > _KEPT_BYTES and len(self._kept) > 1:
                self._size -= len(self._kept.popitem(last=False)[1][1])


@lru_cache(_KEPT_HEADERS)
def accepts_gzip(header: str | None) -> bool:
    """Tell whether an Accept-Encoding welcomes gzip."""
    if not header:
        return False
    for part in header.split(","):
        name, _, parameters = part.strip().partition(";")
        if name.strip().lower() in {"gzip", "*"}:
            return parameters.strip().lower().replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
