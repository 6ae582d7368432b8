"""A compiled part: all that the product needs of one YAML file, computed once per blob and kept.

Positions in a part count from 0; problems and places carry no path, for the same blob may stand anywhere.
"""

import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import orjson

from content.problem import Problem, Severity
from content.record import Page, Record, page_of, redirect_of
from content.vocabulary import Kind
from gitstore import rule_file
from gitstore.columns import Columns, columns_of
from gitstore.part_tables import Tables, tables_of
from gitstore.sections import Run, dump_sections, load_sections, run_of

_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Part:
    """One file, compiled. `lines` tells where each record begins; the tables are made when they are first needed."""

    kind: Kind | None
    lines: Sequence[int]
    problems: tuple[Problem, ...]
    make_tables: Callable[[], Tables]

    def __len__(self) -> int:
        return len(self.lines)

    @cached_property
    def tables(self) -> Tables:
        """What a release is made of; who only checks files never needs it."""
        return self.make_tables()

    @property
    def items(self) -> memoryview:
        """See `Tables`, as for those that follow."""
        return self.tables.items

    @cached_property
    def run(self) -> Run:
        """The items with their checksum."""
        return run_of(self.items)

    @property
    def offsets(self) -> Sequence[int]:
        """Where each item begins, and where the last one ends."""
        return self.tables.offsets

    @property
    def ids(self) -> Sequence[int]:
        """The API's ids, as numbers."""
        return self.tables.ids

    @property
    def prints(self) -> Sequence[int]:
        """A number for each record that is another one where any field is, save the content of a file that it names."""
        return self.tables.prints

    @property
    def keys(self) -> Sequence[int]:
        """The key-table entries of exact records."""
        return self.tables.keys

    @property
    def patterns(self) -> list[tuple[int, str, str]]:
        """Position, type and source of regex redirects."""
        return self.tables.patterns

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
        """What an agent does not get, by position."""
        return self.tables.extras

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The records as people wrote them; content that stands in a file is empty."""
        if self.kind is Kind.PAGES:
            return tuple(self._page(position, item) for position, item in enumerate(self._fields()))
        return tuple(
            redirect_of({**item, **self.extras.get(position, {})}) for position, item in enumerate(self._fields())
        )

    @cached_property
    def columns(self) -> Columns:
        """The records by field, for lists that are searched and sorted."""
        return columns_of(self._fields(), self.extras)

    def _fields(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = orjson.loads(b"[%b]" % bytes(self.items[:-1]))
        return found

    @cached_property
    def id_set(self) -> frozenset[int]:
        """The ids, for a quick no."""
        return frozenset(self.ids)

    def position(self, record_id: str) -> int | None:
        """Where the record with an id stands, the first place where it stands twice; None where none has it."""
        number = id_number(record_id)
        return list(self.ids).index(number) if number in self.id_set else None

    def record(self, position: int) -> Record:
        """One record, without building the others."""
        item = orjson.loads(self.items[self.offsets[position] : self.offsets[position + 1] - 1])
        if self.kind is Kind.PAGES:
            return self._page(position, item)
        return redirect_of({**item, **self.extras.get(position, {})})

    def _page(self, position: int, item: dict[str, Any]) -> Page:
        extras = self.extras.get(position, {})
        return page_of({**item, **extras}, extras.get("file", ""))


def id_number(record_id: str) -> int | None:
    """The number that an id stands for; None for anything but 16 hex digits in lower case, which no record has."""
    return int(record_id, 16) if _ID.fullmatch(record_id) else None


def compile_part(data: bytes) -> Part:
    """Read a YAML file's bytes into a part; what is wrong with them is in its problems."""
    read = rule_file.load(data, "")
    records = tuple(read.records)
    part = Part(read.kind, read.lines, tuple(read.problems), lambda: tables_of(records))
    part.__dict__["records"] = records  # at hand already; the cached property would read them from the items
    return part


def dump_part(part: Part) -> bytes:
    """The file that keeps a part."""
    meta = {
        "kind": part.kind,
        "patterns": part.patterns,
        "hosts": sorted(part.hosts),
        "target_hosts": sorted(part.target_hosts),
        "extras": [[position, extra] for position, extra in part.extras.items()],
        "problems": [_dump_problem(problem) for problem in part.problems],
    }
    return dump_sections(
        {
            "meta": [orjson.dumps(meta)],
            "items": [bytes(part.items)],
            "offsets": [array("Q", part.offsets).tobytes()],
            "ids": [array("Q", part.ids).tobytes()],
            "prints": [array("Q", part.prints).tobytes()],
            "keys": [array("Q", part.keys).tobytes()],
            "lines": [array("I", part.lines).tobytes()],
        }
    )


def load_part(data: bytes) -> Part:
    """Read what `dump_part` wrote; Damaged where it is something else."""
    found = load_sections(memoryview(data))
    meta = orjson.loads(found["meta"])
    tables = Tables(
        found["items"],
        found["offsets"].cast("Q"),
        found["ids"].cast("Q"),
        found["prints"].cast("Q"),
        found["keys"].cast("Q"),
        [tuple(row) for row in meta["patterns"]],
        frozenset(meta["hosts"]),
        frozenset(meta["target_hosts"]),
        dict(meta["extras"]),
    )
    problems = tuple(_load_problem(fields) for fields in meta["problems"])
    return Part(Kind(meta["kind"]) if meta["kind"] else None, found["lines"].cast("I"), problems, lambda: tables)


def _dump_problem(problem: Problem) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in Problem.__slots__}


def _load_problem(fields: dict[str, Any]) -> Problem:
    return replace(Problem("", ""), **{**fields, "severity": Severity(fields["severity"])})
