"""A file's records as they are sent: copied from its segment, with content from other files written into them."""

from array import array
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import accumulate
from typing import NamedTuple

import orjson

from gitstore.compiled.segments.canonical_items import CanonicalItems, canonical_items, encode_canonical
from gitstore.compiled.segments.sections import Chunk, checksum_chunk
from gitstore.compiled.segments.segment import Segment
from gitstore.compiled.segments.segment_tables import compute_fingerprints
from gitstore.compiled.segments.snapshot import CompiledFile, Snapshot


class EncodedFile(NamedTuple):
    """The JSON of a file's records, the offset of each one with the end of the last, and their fingerprints.

    `canonical` has the records whose canonical form differs, `canonical_chunk` their items.
    """

    segment: Segment
    items: Chunk
    offsets: Sequence[int]
    fingerprints: Sequence[int]
    canonical: CanonicalItems
    canonical_chunk: Chunk

    @property
    def sha256(self) -> str:
        """The SHA-256 of the items, in hex."""
        is_copy = self.items is self.segment.items_chunk
        return self.segment.items_sha256 if is_copy else sha256(self.items.data).hexdigest()

    def item(self, position: int) -> bytes:
        """Return the JSON of a record in canonical form, with a comma after it."""
        written = self.items.data[self.offsets[position] : self.offsets[position + 1]]
        return self.canonical.by_position().get(position) or bytes(written)

    def with_items(self, items: Mapping[int, bytes]) -> "EncodedFile":
        """Return the file with other items for the canonical form of the records at some positions."""
        changed = dict(sorted({**self.canonical.by_position(), **items}.items()))
        canonical = canonical_items(changed, self.offsets)
        return self._replace(canonical=canonical, canonical_chunk=checksum_chunk(canonical.items))


def encode_file(snapshot: Snapshot, file: CompiledFile) -> EncodedFile:
    """Return a file's records as they are sent."""
    segment = file.segment
    if not any("file" in extra for extra in segment.extras.values()):
        return EncodedFile(
            segment,
            segment.items_chunk,
            segment.offsets,
            segment.fingerprints,
            segment.canonical,
            segment.canonical_chunk,
        )
    records = [snapshot.whole(file, record) for record in segment.records]
    items = [orjson.dumps(record.wire()) + b"," for record in records]
    offsets = array("Q", accumulate(map(len, items), initial=0))
    canonical = encode_canonical(records, offsets)
    return EncodedFile(
        segment,
        checksum_chunk(b"".join(items)),
        offsets,
        compute_fingerprints(items, segment.extras),
        canonical,
        checksum_chunk(canonical.items),
    )
