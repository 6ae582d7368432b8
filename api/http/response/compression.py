"""The cache of gzipped list windows: each is compressed once per version."""

import zlib
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from api.http.request.parameters import Window
from gitstore.cache import LruCache
from gitstore.compiled.release import Listing

MIN_SIZE = 1024  # bytes; below this, compressing costs more than it saves
_MAX_BYTES = 32 * 1024 * 1024
_MAX_HEADERS = 128
_LEVEL = 6
# 16 + 15 window bits: zlib writes a gzip header, without a time, so the same window gives the same bytes.
# https://docs.python.org/3/library/zlib.html#zlib.compressobj
_GZIP = 31


class _Key(NamedTuple):
    listing: int
    window: Window


class CompressionCache:
    """The compressed windows of one worker; evicts the least recently used. Thread-safe."""

    def __init__(self) -> None:
        # The list stays with its bytes, so that its id cannot come to mean another list.
        self._windows: LruCache[_Key, tuple[Listing, bytes]] = LruCache(_MAX_BYTES, lambda window: len(window[1]))

    def get(self, listing: Listing, window: Window) -> bytes | None:
        """Return a window that was compressed before, or None."""
        found = self._windows.find(_Key(id(listing), window))
        return found[1] if found else None

    def add(self, listing: Listing, window: Window, body: Iterable[bytes | memoryview]) -> None:
        """Compress a window's body and cache it; call this in a thread, for zlib releases the interpreter's lock."""
        compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        data = b"".join([*(compressor.compress(part) for part in body), compressor.flush()])
        self._windows.put(_Key(id(listing), window), (listing, data))


@lru_cache(_MAX_HEADERS)
def accepts_gzip(header: str | None) -> bool:
    """Tell whether an Accept-Encoding header accepts gzip."""
    if not header:
        return False
    for part in header.split(","):
        name, _, parameters = part.strip().partition(";")
        if name.strip().lower() in {"gzip", "*"}:
            return parameters.strip().lower().replace(" ", "") not in {"q=0", "q=0.0", "q=0.00", "q=0.000"}
    return False
