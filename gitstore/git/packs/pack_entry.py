"""Single entries of packs, as bytes."""

import zlib
from collections.abc import Iterator

from dulwich.object_format import DEFAULT_OBJECT_FORMAT
from dulwich.pack import OFS_DELTA, REF_DELTA, pack_object_header

_PIECE = 1 << 16


def dump_whole(kind: int, data: bytes) -> bytes:
    """Return the entry of a whole object."""
    return bytes(pack_object_header(kind, None, len(data), DEFAULT_OBJECT_FORMAT)) + zlib.compress(data)


def dump_in_pieces(kind: int, data: bytes) -> Iterator[bytes]:
    """Yield the entry of a whole object in pieces, quickly rather than small."""
    yield bytes(pack_object_header(kind, None, len(data), DEFAULT_OBJECT_FORMAT))
    stream = zlib.compressobj(1)
    with memoryview(data) as view:
        for at in range(0, len(data), _PIECE):
            yield stream.compress(view[at : at + _PIECE])
    yield stream.flush()


def dump_delta_header(distance: int, size: int) -> bytes:
    """Return the header of a delta whose base begins `distance` bytes before it; its compressed bytes follow."""
    return bytes(pack_object_header(OFS_DELTA, distance, size, DEFAULT_OBJECT_FORMAT))


def dump_named_delta_header(base: bytes, size: int) -> bytes:
    """Return the header of a delta that names its base by its id; its compressed bytes follow."""
    return bytes(pack_object_header(REF_DELTA, base, size, DEFAULT_OBJECT_FORMAT))
