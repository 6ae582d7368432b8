"""Single entries of packs, as bytes."""

import zlib

from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.pack import OFS_DELTA, REF_DELTA, pack_object_header


def dump_whole(kind: int, data: bytes) -> bytes:
    """Return the entry of a whole object."""
    return bytes(pack_object_header(kind, None, len(data), DEFAULT_OBJECT_FORMAT)) + zlib.compress(data)


def dump_delta_header(distance: int, size: int) -> bytes:
    """Return the header of a delta whose base begins `distance` bytes before it; its compressed bytes follow."""
    return bytes(pack_object_header(OFS_DELTA, distance, size, DEFAULT_OBJECT_FORMAT))


def dump_named_delta_header(base: bytes, size: int) -> bytes:
    """Return the header of a delta that names its base by its id; its compressed bytes follow."""
    return bytes(pack_object_header(REF_DELTA, base, size, DEFAULT_OBJECT_FORMAT))
