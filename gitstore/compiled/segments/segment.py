"""A compiled segment: all data that the product needs of one YAML file, computed once per blob and stored.

Positions in a segment count from 0. Problems and places have no path, since the same blob can be at several paths.
"""

import re
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import orjson

from content.matching.pattern import facts_of
from content.records.problem import Problem, Severity
from content.records.record import Page, Record, page_of, redirect_of
from content.records.vocabulary import Kind
from gitstore.compiled.segments.canonical_items import CanonicalItems, dump_canonical, load_canonical
from gitstore.compiled.segments.columns import Columns, dump_columns
from gitstore.compiled.segments.file_finder import IdIndex
from gitstore.compiled.segments.sections import Chunk, checksum_chunk, dump_sections, load_sections
from gitstore.compiled.segments.segment_tables import SegmentTables, build_tables, list_patterns
from gitstore.compiled.segments.table_patch import patch_tables
from gitstore.yamlfiles import rule_file
from gitstore.yamlfiles.rule_file import EMPTY_VALUE, RuleFile

# Part of the names of stored segments and outlines: raise it when the content of a segment, or the checks of a rule, change.
SEGMENT_FORMAT = "8"
ID_BYTES = 8
_FEW_IDS = 16  # that are found one by one faster than all ids of a file become a set
_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Segment:
    """One compiled file. `lines` has the first line of each record; the tables are built on first use."""

    kind: Kind | None
    lines: Sequence[int]
    problems: tuple[Problem, ...]
    tables_factory: Callable[[], SegmentTables]

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def whole(self) -> "Segment":
        """The segment with all its tables, loaded if necessary."""
        return self

    @cached_property
    def tables(self) -> SegmentTables:
        """The tables for a release; checks of files do not need them."""
        return self.tables_factory()

    @property
    def id_index(self) -> IdIndex | None:
        """The index of many files that has the ids of this one; None for none."""
        return None

    @property
    def hiding_problems(self) -> list[Problem]:
        """The errors because of which rules may be unread; a list without a value hides none."""
        return [each for each in self.problems if each.severity is Severity.ERROR and each.code != EMPTY_VALUE]

    def hiding_problems_for(self, kind: Kind) -> list[Problem]:
        """Return these errors, or that of a file which must hold this kind and holds the other one."""
        return self.hiding_problems or self.kind_problems(kind)

    def kind_problems(self, kind: Kind) -> list[Problem]:
        """Return the error of a file that must hold this kind and holds the other one."""
        if self.kind in {kind, None}:
            return []
        return [Problem("wrong_kind", f"This file must hold `{kind}:`, not `{self.kind}:`.", line=1)]

    @property
    def items(self) -> memoryview:
        """The JSON of all records; see `SegmentTables`, also for the properties below."""
        return self.tables.items

    @cached_property
    def items_chunk(self) -> Chunk:
        """The items with their checksum."""
        return checksum_chunk(self.items)

    @cached_property
    def items_sha256(self) -> str:
        """The SHA-256 of the items, in hex; stored, so that an unchanged file is never hashed again."""
        return sha256(self.items).hexdigest()

    @property
    def offsets(self) -> Sequence[int]:
        """The offset of each item, and the end of the last one."""
        return self.tables.offsets

    @property
    def ids(self) -> Sequence[int]:
        """The API's ids, as numbers."""
        return self.tables.ids

    @property
    def fingerprints(self) -> Sequence[int]:
        """A number for each record that differs if any field does, except the content of a file that it names."""
        return self.tables.fingerprints

    @property
    def keys(self) -> Sequence[int]:
        """The key-table entries of exact records."""
        return self.tables.keys

    @cached_property
    def patterns(self) -> list[tuple[int, str, str]]:
        """Position, type and source of regex redirects; of records in memory, without the other tables."""
        if "records" in self.__dict__ and "tables" not in self.__dict__:
            return list_patterns(self.records)
        return self.tables.patterns

    @cached_property
    def costs(self) -> Sequence[int]:
        """The cost of each regex redirect, in the order of `patterns`; see `content.matching.pattern_cost`."""
        return [facts_of(source).cost for _, _, source in self.patterns]

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts that exact records name."""
        return self.tables.hosts

    @property
    def target_hosts(self) -> frozenset[str]:
        """The hosts that targets name."""
        return self.tables.target_hosts

    @property
    def extras(self) -> dict[int, dict[str, Any]]:
        """The fields that agents do not get, by position."""
        return self.tables.extras

    @property
    def canonical(self) -> CanonicalItems:
        """The records whose canonical form is not the written one; content from another file is empty."""
        return self.tables.canonical

    @property
    def has_canonical(self) -> bool:
        """True if a record has a canonical form that is not the written one."""
        return bool(self.canonical.positions)

    @cached_property
    def canonical_chunk(self) -> Chunk:
        """The canonical items with their checksum."""
        return checksum_chunk(self.canonical.items)

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The records as people wrote them; content from another file is empty."""
        return self.build_records()

    def build_records(self) -> tuple[Record, ...]:
        """Build all records, and do not keep them."""
        if self.kind is Kind.PAGES:
            return tuple(self._page(position, item) for position, item in enumerate(self.read_fields()))
        return tuple(
            redirect_of({**item, **self.extras.get(position, {})}) for position, item in enumerate(self.read_fields())
        )

    @property
    def rules(self) -> RuleFile:
        """The file as it was read; problems have no file."""
        return RuleFile(self.kind, self.records, tuple(self.lines), self.problems)

    @cached_property
    def columns(self) -> Columns:
        """The records by field, for lists that are searched and sorted."""
        return Columns(self.dump_columns())

    def dump_columns(self) -> bytes:
        """Return the bytes of the columns."""
        return dump_columns(self.read_fields(), self.extras)

    def read_fields(self) -> list[dict[str, Any]]:
        """Return the fields of all records that agents get, by name, read from the items."""
        found: list[dict[str, Any]] = orjson.loads(b"[%b]" % bytes(self.items[:-1]))
        return found

    @cached_property
    def id_set(self) -> frozenset[int]:
        """The ids as a set."""
        return frozenset(self.ids)

    @cached_property
    def id_bytes(self) -> bytes:
        """The ids, `ID_BYTES` each."""
        return array("Q", self.ids).tobytes()

    def position(self, record_id: str) -> int | None:
        """Return the position of the record with an id, the first one of duplicates; None if no record has it."""
        return next(self.positions(record_id), None)

    def positions(self, record_id: str) -> Iterator[int]:
        """Yield the positions of all records with an id."""
        number = id_number(record_id)
        return iter(()) if number is None else self._places_of(number)

    def has_any(self, ids: frozenset[int]) -> bool:
        """Tell whether a record has one of these ids."""
        if len(ids) <= _FEW_IDS:
            return any(self.place_of(number) is not None for number in ids)
        return not ids.isdisjoint(self.id_set)

    def place_of(self, number: int) -> int | None:
        """Return the position of the record with an id, as a number."""
        return next(self._places_of(number), None)

    def _places_of(self, number: int) -> Iterator[int]:
        wanted, ids = array("Q", [number]).tobytes(), self.id_bytes
        at = ids.find(wanted)
        while at >= 0:
            if at % ID_BYTES == 0:  # else it is across two ids
                yield at // ID_BYTES
            at = ids.find(wanted, at + 1)

    def record(self, position: int) -> Record:
        """Build one record, without the others."""
        item = orjson.loads(_item(self, position))
        if self.kind is Kind.PAGES:
            return self._page(position, item)
        return redirect_of({**item, **self.extras.get(position, {})})

    def _page(self, position: int, item: dict[str, Any]) -> Page:
        extras = self.extras.get(position, {})
        return page_of({**item, **extras}, extras.get("file", ""))


def _item(segment: Segment, position: int) -> memoryview:
    return segment.items[segment.offsets[position] : segment.offsets[position + 1] - 1]


def id_number(record_id: str) -> int | None:
    """Return an id as a number; None for anything but 16 hex digits in lower case, which no record has."""
    return int(record_id, 16) if _ID.fullmatch(record_id) else None


def compile_segment(data: bytes) -> Segment:
    """Compile a YAML file's bytes; their faults become the segment's problems."""
    return segment_of(rule_file.load(data, ""))


def segment_of(read: RuleFile, before: Segment | None = None) -> Segment:
    """Compile a parsed file of rules; `before` is the file before an edit, whose tables are used again."""
    records = tuple(read.records)
    problems = tuple(replace(problem, file="") for problem in read.problems)
    if before and before.kind is read.kind:
        patched = patch_tables(before.tables, before.records, records)  # now: the factory would keep `before` in memory
        segment = Segment(read.kind, read.lines, problems, lambda: patched)
    else:
        segment = Segment(read.kind, read.lines, problems, lambda: build_tables(records))
    segment.__dict__["records"] = records  # fills the cached property, which would parse the items
    return segment


def dump_segment(segment: Segment) -> bytes:
    """Return the file of a segment."""
    meta = {
        "kind": segment.kind,
        "patterns": segment.patterns,
        "costs": segment.costs,
        "hosts": sorted(segment.hosts),
        "target_hosts": sorted(segment.target_hosts),
        "extras": [[position, extra] for position, extra in segment.extras.items()],
        "sha256": segment.items_sha256,
        "problems": [dump_problem(problem) for problem in segment.problems],
    }
    return dump_sections(
        {
            "meta": [orjson.dumps(meta)],
            "items": [bytes(segment.items)],
            "offsets": [array("Q", segment.offsets).tobytes()],
            "ids": [array("Q", segment.ids).tobytes()],
            "prints": [array("Q", segment.fingerprints).tobytes()],
            "keys": [array("Q", segment.keys).tobytes()],
            "lines": [array("I", segment.lines).tobytes()],
            **dump_canonical(segment.canonical),
        }
    )


def load_segment(data: bytes) -> Segment:
    """Read the output of `dump_segment`. Raises Damaged for anything else."""
    found = load_sections(memoryview(data))
    meta = orjson.loads(found["meta"])
    tables = SegmentTables(
        found["items"],
        found["offsets"].cast("Q"),
        found["ids"].cast("Q"),
        found["prints"].cast("Q"),
        found["keys"].cast("Q"),
        [tuple(row) for row in meta["patterns"]],
        frozenset(meta["hosts"]),
        frozenset(meta["target_hosts"]),
        dict(meta["extras"]),
        load_canonical(found),
    )
    problems = tuple(load_problem(fields) for fields in meta["problems"])
    segment = Segment(Kind(meta["kind"]) if meta["kind"] else None, found["lines"].cast("I"), problems, lambda: tables)
    if "costs" in meta:  # files of earlier programs do not have it
        segment.__dict__["costs"] = meta["costs"]
    if "sha256" in meta:  # nor this
        segment.__dict__["items_sha256"] = meta["sha256"]
    return segment


def dump_problem(problem: Problem) -> dict[str, Any]:
    """Return a problem of a file as JSON."""
    return {name: getattr(problem, name) for name in Problem.__slots__}


def load_problem(fields: dict[str, Any]) -> Problem:
    """Read the output of `dump_problem`."""
    return replace(Problem("", ""), **{**fields, "severity": Severity(fields["severity"])})
