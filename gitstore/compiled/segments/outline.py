"""The outline of one file of rules: what lists, searches and look-ups by id need of it, readable in place in a map."""

import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from mmap import mmap
from typing import overload

import orjson

from content.records.record import Record
from content.records.vocabulary import Kind
from gitstore.compiled.segments.columns import Columns
from gitstore.compiled.segments.sections import Chunk
from gitstore.compiled.segments.segment import Segment, dump_problem, load_problem

_HEAD = struct.Struct("<2Q")  # the lengths of the meta data and of the ids


class Outline:
    """The kind, problems, ids and columns of a file, in a block of bytes from `start`."""

    def __init__(self, block: "bytes | mmap", start: int = 0) -> None:
        meta, ids = _HEAD.unpack(block[start : start + _HEAD.size])
        at = start + _HEAD.size
        found = orjson.loads(block[at : at + meta])
        self.kind = Kind(found["kind"]) if found["kind"] else None
        self.problems = tuple(map(load_problem, found["problems"]))
        self.columns = Columns(block, at + meta + ids)
        self._block = block
        self._ids = at + meta, at + meta + ids

    @property
    def id_bytes(self) -> bytes:
        """The API's ids, eight bytes each."""
        return self._block[slice(*self._ids)]


def dump_outline(segment: Segment) -> bytes:
    """Return the outline of a segment."""
    found = {"kind": segment.kind, "problems": [dump_problem(problem) for problem in segment.problems]}
    meta = orjson.dumps(found)
    return b"".join([_HEAD.pack(len(meta), len(segment.id_bytes)), meta, segment.id_bytes, segment.dump_columns()])


class OutlinedSegment(Segment):
    """A segment that is loaded at the first use of anything that its outline lacks."""

    def __init__(self, outline: Outline, load: Callable[[], Segment]) -> None:
        super().__init__(outline.kind, _Lines(self), outline.problems, lambda: self.whole.tables)
        self.__dict__.update(_load=load, columns=outline.columns, _outline=outline)

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def whole(self) -> Segment:
        """The segment with all its tables."""
        found: Segment = self.__dict__["_load"]()
        return found

    @property
    def id_bytes(self) -> bytes:
        """The ids, from the outline."""
        found: Outline = self.__dict__["_outline"]
        return found.id_bytes

    @property
    def ids(self) -> Sequence[int]:
        """The ids, from the outline."""
        return memoryview(self.id_bytes).cast("Q")

    @cached_property
    def items_chunk(self) -> Chunk:
        """The items with their checksum."""
        return self.whole.items_chunk

    @cached_property
    def items_sha256(self) -> str:
        """The stored SHA-256 of the items."""
        return self.whole.items_sha256

    @cached_property
    def costs(self) -> Sequence[int]:
        """The stored costs of regex redirects."""
        return self.whole.costs

    @cached_property
    def canonical_chunk(self) -> Chunk:
        """The canonical items with their checksum."""
        return self.whole.canonical_chunk

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The records of the whole segment."""
        return self.whole.records


class _Lines(Sequence[int]):
    """The lines of an outlined segment: their number is in the outline."""

    def __init__(self, segment: OutlinedSegment) -> None:
        self._segment = segment

    def __len__(self) -> int:
        return len(self._segment)

    @overload
    def __getitem__(self, at: int) -> int: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...

    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        return self._segment.whole.lines[at]

    def __iter__(self) -> Iterator[int]:
        return iter(self._segment.whole.lines)
