"""A compiled part: all that the product needs of one YAML file, computed once per blob and kept.

Positions in a part count from 0; problems and places carry no path, for the same blob may stand anywhere.
"""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import orjson

from content.canonical import exact_key, split_host
from content.problem import Problem, Severity
from content.record import Page, Record, Redirect, page_of, redirect_of
from content.vocabulary import Kind
from gitstore import rule_file
from gitstore.columns import Columns, columns_of
from gitstore.key_table import key_base
from gitstore.sections import dump_sections, load_sections

_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Part:
    """One file, compiled.

    `items` holds the JSON of every record (exactly the contract's fields), a comma after each; item `i` is
    `items[offsets[i]:offsets[i + 1] - 1]`. `ids` are the API's ids as numbers, `keys` the key-table entries
    of exact records, sorted, `hosts` those that exact records name, `lines` where each record begins. A page that names a file has no content here:
    `extras[i]["file"]` tells the name. Other extras are `note` and `tags`.
    """

    kind: Kind | None
    items: memoryview
    offsets: Sequence[int]
    ids: Sequence[int]
    keys: Sequence[int]
    lines: Sequence[int]
    patterns: list[tuple[int, str, str]]
    hosts: frozenset[str]
    extras: dict[int, dict[str, Any]]
    problems: tuple[Problem, ...]

    def __len__(self) -> int:
        return len(self.ids)

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

    @cached_property
    def prints(self) -> tuple[int, ...]:
        """A number for each record that is another one where any field is, save the content of a file that it names."""
        ends = zip(self.offsets, self.offsets[1:], strict=False)
        items = (bytes(self.items[start:end]) for start, end in ends)
        return tuple(
            hash((number, item, repr(self.extras.get(position))))
            for position, (number, item) in enumerate(zip(self.ids, items, strict=True))
        )

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
    keys = [_exact_key(record) for record in read.records]
    items = [orjson.dumps(record.wire()) + b"," for record in read.records]
    offsets = [0]
    for item in items:
        offsets.append(offsets[-1] + len(item))
    part = Part(
        read.kind,
        memoryview(b"".join(items)),
        offsets,
        [int(record.id, 16) for record in read.records],
        sorted(key_base(key) + position for position, key in enumerate(keys) if key),
        list(read.lines),
        _patterns(read.records),
        frozenset(host for key in keys if (host := split_host(key)[0])),
        {position: extra for position, record in enumerate(read.records) if (extra := _extra(record))},
        tuple(read.problems),
    )
    part.__dict__["records"] = tuple(read.records)  # at hand already; the cached property would read them again
    return part


def dump_part(part: Part) -> bytes:
    """The file that keeps a part."""
    meta = {
        "kind": part.kind,
        "patterns": part.patterns,
        "hosts": sorted(part.hosts),
        "extras": [[position, extra] for position, extra in part.extras.items()],
        "problems": [_dump_problem(problem) for problem in part.problems],
    }
    return dump_sections(
        {
            "meta": [orjson.dumps(meta)],
            "items": [bytes(part.items)],
            "offsets": [array("Q", part.offsets).tobytes()],
            "ids": [array("Q", part.ids).tobytes()],
            "keys": [array("Q", part.keys).tobytes()],
            "lines": [array("I", part.lines).tobytes()],
        }
    )


def load_part(data: bytes) -> Part:
    """Read what `dump_part` wrote; Damaged where it is something else."""
    found = load_sections(memoryview(data))
    meta = orjson.loads(found["meta"])
    return Part(
        Kind(meta["kind"]) if meta["kind"] else None,
        found["items"],
        found["offsets"].cast("Q"),
        found["ids"].cast("Q"),
        found["keys"].cast("Q"),
        found["lines"].cast("I"),
        [tuple(row) for row in meta["patterns"]],
        frozenset(meta["hosts"]),
        dict(meta["extras"]),
        tuple(_load_problem(fields) for fields in meta["problems"]),
    )


def _exact_key(record: Record) -> str:
    """What an exact look-up finds the record by; empty for a pattern, and for what no request can equal."""
    if isinstance(record, Page):
        return exact_key(record.type.has_host, record.path)
    return exact_key(record.type.has_host, record.source) if record.type.is_exact else ""


def _patterns(records: Sequence[Record]) -> list[tuple[int, str, str]]:
    return [
        (position, record.type.value, record.source)
        for position, record in enumerate(records)
        if isinstance(record, Redirect) and not record.type.is_exact
    ]


def _extra(record: Record) -> dict[str, Any]:
    file = record.content_file if isinstance(record, Page) else ""
    found = {"note": record.note, "tags": list(record.tags), "file": file}
    return {name: value for name, value in found.items() if value}


def _dump_problem(problem: Problem) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in Problem.__slots__}


def _load_problem(fields: dict[str, Any]) -> Problem:
    return replace(Problem("", ""), **{**fields, "severity": Severity(fields["severity"])})
