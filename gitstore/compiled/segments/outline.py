"""The outline of one file of rules: what lists, searches and look-ups by id need of it, readable in place in a map."""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from mmap import mmap
from weakref import ref

import orjson

from content.computed_sequence import ComputedSequence
from content.records.record import Record
from content.records.vocabulary import Kind
from gitstore.compiled.segments.columns import Columns
from gitstore.compiled.segments.file_finder import IdIndex
from gitstore.compiled.segments.sections import Chunk
from gitstore.compiled.segments.segment import Segment, dump_problem, load_problem
from gitstore.compiled.segments.segment_tables import SegmentTables

_HEAD = struct.Struct("<2Q")  # the lengths of the meta data and of the ids


class Outline:
    """The kind, problems, hosts, ids and columns of a file, in a block of bytes from `start`.

    `index` has the ids of this file among those of others; None for none.
    """

    def __init__(self, block: "bytes | mmap", start: int = 0, index: IdIndex | None = None) -> None:
        meta, ids = _HEAD.unpack(block[start : start + _HEAD.size])
        at = start + _HEAD.size
        found = orjson.loads(block[at : at + meta])
        self.kind = Kind(found["kind"]) if found["kind"] else None
        self.problems = tuple(map(load_problem, found["problems"]))
        self.hosts, self.target_hosts = frozenset[str](found["hosts"]), frozenset[str](found["target_hosts"])
        self.costs: Sequence[int] = found["costs"]
        self.has_canonical: bool = found["canonical"]
        self.index = index
        self.columns = Columns(block, at + meta + ids)
        self._block = block
        self._ids = at + meta, at + meta + ids

    @property
    def id_bytes(self) -> bytes:
        """The API's ids, eight bytes each."""
        return self._block[slice(*self._ids)]


def dump_outline(segment: Segment) -> bytes:
    """Return the outline of a segment."""
    found = {
        "kind": segment.kind,
        "problems": [dump_problem(problem) for problem in segment.problems],
        "hosts": sorted(segment.hosts),
        "target_hosts": sorted(segment.target_hosts),
        "costs": segment.costs,
        "canonical": segment.has_canonical,
    }
    meta = orjson.dumps(found)
    return b"".join([_HEAD.pack(len(meta), len(segment.id_bytes)), meta, segment.id_bytes, segment.dump_columns()])


class _Loaded:
    """A segment that is loaded when it is used, and not kept: the cache of segments keeps it."""

    def __init__(self, load: Callable[[], Segment]) -> None:
        self._load = load
        self._known: ref[Segment] | None = None

    @property
    def segment(self) -> Segment:
        known = self._known
        found = known() if known else None
        if found is None:
            found = self._load()
            self._known = ref(found)
        return found


@dataclass(frozen=True)
class OutlinedSegment(Segment):
    """A segment that is loaded at the use of anything that its outline lacks."""

    outline: Outline
    loaded: _Loaded

    def __len__(self) -> int:
        return len(self.outline.columns)

    @property
    def whole(self) -> Segment:
        """The segment with all its tables."""
        return self.loaded.segment

    @property
    def columns(self) -> Columns:
        """The columns, from the outline."""
        return self.outline.columns

    @property
    def id_index(self) -> IdIndex | None:
        """The index that has the ids of this file."""
        return self.outline.index

    @property
    def id_bytes(self) -> bytes:
        """The ids, from the outline."""
        return self.outline.id_bytes

    @property
    def ids(self) -> Sequence[int]:
        """The ids, from the outline."""
        return memoryview(self.id_bytes).cast("Q")

    @property
    def id_set(self) -> frozenset[int]:
        """The ids as a set; it is not kept, since 500 ids take 50 kB."""
        return frozenset(self.ids)

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts, from the outline."""
        return self.outline.hosts

    @property
    def target_hosts(self) -> frozenset[str]:
        """The hosts of targets, from the outline."""
        return self.outline.target_hosts

    @property
    def costs(self) -> Sequence[int]:
        """The costs of regex redirects, from the outline."""
        return self.outline.costs

    @property
    def has_canonical(self) -> bool:
        """True if a record has a canonical form of its own, from the outline."""
        return self.outline.has_canonical

    @property
    def patterns(self) -> list[tuple[int, str, str]]:
        """The regex redirects; each has a cost, so without costs there are none."""
        return self.whole.patterns if self.costs else []

    @property
    def tables(self) -> SegmentTables:
        """The tables of the whole segment."""
        return self.whole.tables

    @property
    def items_chunk(self) -> Chunk:
        """The items with their checksum."""
        return self.whole.items_chunk

    @property
    def items_sha256(self) -> str:
        """The stored SHA-256 of the items."""
        return self.whole.items_sha256

    @property
    def canonical_chunk(self) -> Chunk:
        """The canonical items with their checksum."""
        return self.whole.canonical_chunk

    @property
    def records(self) -> tuple[Record, ...]:
        """The records of the whole segment."""
        return self.whole.records


class _Lines(ComputedSequence[int]):
    """The lines of an outlined segment: their number is in the outline."""

    def __init__(self, number: int, loaded: _Loaded) -> None:
        self._number, self._loaded = number, loaded

    def __len__(self) -> int:
        return self._number

    def build(self, index: int) -> int:
        """Return the line of a record."""
        return self._loaded.segment.lines[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self._loaded.segment.lines)


def outlined_segment(outline: Outline, load: Callable[[], Segment]) -> OutlinedSegment:
    """Return the segment of an outline; `load` gives the whole one."""
    loaded = _Loaded(load)
    lines = _Lines(len(outline.columns), loaded)
    return OutlinedSegment(outline.kind, lines, outline.problems, lambda: loaded.segment.tables, outline, loaded)
