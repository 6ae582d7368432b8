"""The tables of a compiled segment: the input of a release, computed from a file's records."""

from array import array
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate
from typing import Any, NamedTuple

import orjson

from content.matching.canonical import exact_key, split_host
from content.matching.onward import target_host
from content.records.record import Page, Record, Redirect, id_bytes
from gitstore.compiled.segments.canonical_items import CanonicalItems, encode_canonical
from gitstore.compiled.segments.key_table import key_base

_FINGERPRINT_BYTES = 8


class SegmentTables(NamedTuple):
    """The data of a segment's records, by position.

    `items` is the JSON of every record (exactly the contract's fields), with a comma after each; item `i` is
    `items[offsets[i]:offsets[i + 1] - 1]`. `ids` are the API's ids as numbers, `fingerprints` are from
    `compute_fingerprints`. `keys` are the key-table entries of exact records, sorted, and `hosts` the hosts that these
    records name. `patterns` has position, type and source of the other records. `target_hosts` are from `target_host`,
    of the redirects. A page that names a file has no content here: the name is `extras[i]["file"]`. Other extras are
    `note` and `tags`. `canonical` has the records whose canonical form is not the written one.
    """

    items: memoryview
    offsets: Sequence[int]
    ids: Sequence[int]
    fingerprints: Sequence[int]
    keys: Sequence[int]
    patterns: list[tuple[int, str, str]]
    hosts: frozenset[str]
    target_hosts: frozenset[str]
    extras: dict[int, dict[str, Any]]
    canonical: CanonicalItems


def build_tables(records: Sequence[Record]) -> SegmentTables:
    """Build the tables of a file's records."""
    keys = [find_exact_key(record) for record in records]
    items = list(map(encode_item, records))
    offsets = list(accumulate(map(len, items), initial=0))
    extras = {position: extra for position, record in enumerate(records) if (extra := _extra(record))}
    return SegmentTables(
        memoryview(b"".join(items)),
        offsets,
        [int.from_bytes(id_bytes(record.identity)) for record in records],
        compute_fingerprints(items, extras),
        sorted(key_base(key) + position for position, key in enumerate(keys) if key),
        list_patterns(records),
        frozenset(split_host(key)[0] for key in keys if key and not key.startswith("/")),
        frozenset(target_host(record) for record in records if isinstance(record, Redirect)),
        extras,
        encode_canonical(records, offsets),
    )


def compute_fingerprints(items: Sequence[bytes], extras: Mapping[int, Mapping[str, Any]]) -> Sequence[int]:
    """Compute a 64-bit number for each record that differs if any field of its item or its extras does."""
    whole = [
        item + orjson.dumps(extras[position]) if position in extras else item for position, item in enumerate(items)
    ]
    return array("Q", b"".join([blake2b(data, digest_size=_FINGERPRINT_BYTES).digest() for data in whole]))


def encode_item(record: Record) -> bytes:
    """Return the JSON of a record, with a comma after it."""
    if isinstance(record, Redirect):  # as of `wire`, in half the time; the values of both enums need no escapes
        source, target = orjson.dumps(record.source), orjson.dumps(record.target)
        return b'{"type":"%b","source":%b,"target":%b,"status":"%b"},' % (
            record.type.encode(),
            source,
            target,
            record.status.encode(),
        )
    return orjson.dumps(record.wire()) + b","


def find_exact_key(record: Record) -> str:
    """Return the key of an exact look-up; empty for a pattern, and for a source that no request can equal."""
    if isinstance(record, Page):
        return exact_key(record.type.has_host, record.path)
    return exact_key(record.type.has_host, record.source) if record.type.is_exact else ""


def list_patterns(records: Sequence[Record]) -> list[tuple[int, str, str]]:
    """Return position, type and source of the regex redirects."""
    return [
        (position, record.type.value, record.source)
        for position, record in enumerate(records)
        if isinstance(record, Redirect) and not record.type.is_exact
    ]


def _extra(record: Record) -> dict[str, Any]:
    if isinstance(record, Redirect) and not (record.note or record.tags):
        return {}
    file = record.content_file if isinstance(record, Page) else ""
    found = {"note": record.note, "tags": list(record.tags), "file": file}
    return {name: value for name, value in found.items() if value}
