"""The limits of one push, so that it costs bounded memory and time."""

from typing import NamedTuple

MIB = 1 << 20
MOST_REFS = 1_000
"""The refs that one push may change."""


class PushLimits(NamedTuple):
    """Bytes of the request, objects of its pack, bytes of these objects together and of each, uncompressed."""

    request_bytes: int = 1024 * MIB
    objects: int = 500_000
    inflated_bytes: int = 16 * 1024 * MIB
    object_bytes: int = 32 * MIB
