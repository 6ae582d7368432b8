"""The tables of a compiled part: what a release is made of, computed from a file's records."""

from array import array
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate
from typing import Any, NamedTuple

import orjson

from content.canonical import exact_key, split_host
from content.onward import target_host
from content.record import Page, Record, Redirect
from gitstore.key_table import key_base

_PRINT = 8


class Tables(NamedTuple):
    """What a part holds of its records, by position.

    `items` holds the JSON of every record (exactly the contract's fields), a comma after each; item `i` is
    `items[offsets[i]:offsets[i + 1] - 1]`. `ids` are the API's ids as numbers, `keys` the key-table entries
    of exact records, sorted, `hosts` those that exact records name, `patterns` position, type and source of the
    others, `target_hosts` what `target_host` gives of the redirects. A page that names a file has no content here: `extras[i]["file"]` tells the name. Other extras are `note`
    and `tags`. `prints` are what `prints_of` gives.
    """

    items: memoryview
    offsets: Sequence[int]
    ids: Sequence[int]
    prints: Sequence[int]
    keys: Sequence[int]
    patterns: list[tuple[int, str, str]]
    hosts: frozenset[str]
    target_hosts: frozenset[str]
    extras: dict[int, dict[str, Any]]


def tables_of(records: Sequence[Record]) -> Tables:
    """The tables of a file's records."""
    keys = [_exact_key(record) for record in records]
    items = [orjson.dumps(record.wire()) + b"," for record in records]
    extras = {position: extra for position, record in enumerate(records) if (extra := _extra(record))}
    return Tables(
        memoryview(b"".join(items)),
        list(accumulate(map(len, items), initial=0)),
        [int(record.id, 16) for record in records],
        prints_of(items, extras),
        sorted(key_base(key) + position for position, key in enumerate(keys) if key),
        _patterns(records),
        frozenset(split_host(key)[0] for key in keys if key and not key.startswith("/")),
        frozenset(target_host(record) for record in records if isinstance(record, Redirect)),
        extras,
    )


def prints_of(items: Sequence[bytes], extras: Mapping[int, Mapping[str, Any]]) -> Sequence[int]:
    """A number for each record, of 64 bits, that is another one where any field is: of its item and of its extras."""
    whole = [
        item + orjson.dumps(extras[position]) if position in extras else item for position, item in enumerate(items)
    ]
    return array("Q", b"".join([blake2b(data, digest_size=_PRINT).digest() for data in whole]))


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
