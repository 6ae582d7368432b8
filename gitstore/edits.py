"""Edits as callers make them, and the etag of an item."""

from dataclasses import dataclass
from hashlib import sha256

import orjson

from content.record import Record
from content.vocabulary import Kind


@dataclass(frozen=True, slots=True)
class Put:
    """Write a record.

    With `replaces` (an id) the record takes that one's place, and there must be one; `create` means that there must be
    none of its identity; with neither, it is created or replaces its like. `etag`, where given, must still hold.
    """

    kind: Kind
    record: Record
    replaces: str = ""
    create: bool = False
    etag: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the record with an id; there must be one."""

    kind: Kind
    id: str
    etag: str = ""


Edit = Put | Delete


def etag_of(record: Record) -> str:
    """What changes whenever any field of the record does: 16 hex digits."""
    return sha256(orjson.dumps(record.fields())).hexdigest()[:16]
