"""The cache of gzipped list windows: each is compressed once per version."""

import re
import zlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from api.http.request.parameters import Window
from content.cache import LruCache
from gitstore.compiled.releases.release import Listing

MIN_SIZE = 1024  # bytes; below this, compressing costs more than it saves
_MAX_BYTES = 32 * 1024 * 1024
_MAX_HEADERS = 128
_LONGEST_CACHED = 256  # characters of a header
_GZIP_NAMES = frozenset({"gzip", "x-gzip"})
_WEIGHT = re.compile(r"(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")
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
        self._windows.put(_Key(id(listing), window), (listing, compress(body)))


def compress(body: Iterable[bytes | memoryview]) -> bytes:
    """Return a body in gzip format; call this in a thread."""
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    return b"".join([*(compressor.compress(part) for part in body), compressor.flush()])


def accepts_gzip(header: str | None) -> bool:
    """Tell whether an Accept-Encoding header accepts gzip, and prefers no uncompressed response (RFC 9110, 12.5.3)."""
    if not header:
        return False
    return _prefers_gzip(header) if len(header) <= _LONGEST_CACHED else _prefers_gzip.__wrapped__(header)


def choose_coding(header: str | None, offered: Sequence[str]) -> str:
    """Return the best of the offered codings, the preferred one first, that an Accept-Encoding header accepts."""
    if header and len(header) <= _LONGEST_CACHED:
        weights = dict(_read_weight(part) for part in header.lower().split(","))
        for coding in offered:
            if weights.get(coding, weights.get("*", 0.0)) > 0:
                return coding
    return "identity"


@lru_cache(_MAX_HEADERS)
def _prefers_gzip(header: str) -> bool:
    weights = dict(_read_weight(part) for part in header.lower().split(","))
    others = weights.get("*", 0.0)
    gzip = max((weights[name] for name in _GZIP_NAMES if name in weights), default=others)
    return gzip > 0 and gzip >= weights.get("identity", 0.0)


def _read_weight(part: str) -> tuple[str, float]:
    """Return a coding and its weight: 1 if none is given, 0 if it is malformed."""
    name, *parameters = (each.strip() for each in part.split(";"))
    weight = 1.0
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            weight = float(value) if _WEIGHT.fullmatch(value.strip()) else 0.0
    return name, weight
