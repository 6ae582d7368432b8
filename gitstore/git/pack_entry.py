"""Single entries of packs, as bytes."""

import zlib

from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.pack import OFS_DELTA, pack_object_header


def dump_whole(kind: int, data: bytes) -> bytes:
    """Return the entry of a whole object."""
    return bytes(pack_object_header(kind, None, len(data), DEFAULT_OBJECT_FORMAT)) + zlib.compress(data)


def dump_delta_header(distance: int, size: int) -> bytes:
    """Return the header of a delta whose base begins `distance` bytes before it; its compressed bytes follow."""
    return bytes(pack_object_header(OFS_DELTA, distance, size, DEFAULT_OBJECT_FORMAT))
