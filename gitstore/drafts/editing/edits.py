"""Edits of a draft, and the etag of a record."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

from content.records.record import Record
from content.records.vocabulary import Kind


@dataclass(frozen=True, slots=True)
class Put:
    """Write a record.

    With `replaces` (an id) it replaces that record, which must exist; with `create` no record may have its identity;
    with neither, it is created, or replaces the record with its identity. `etag`, where given, must still match.
    A page that names no content file keeps its file, unless it `is_inline`.
    """

    kind: Kind
    record: Record
    replaces: str = ""
    create: bool = False
    etag: str = ""
    file: str = ""
    is_inline: bool = False


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the record with an id, which must exist."""

    kind: Kind
    id: str
    etag: str = ""


@dataclass(frozen=True, slots=True)
class Patch:
    """Change the named fields (by their wire names) of the record with an id; there must be one."""

    kind: Kind
    id: str
    fields: Mapping[str, Any]
    etag: str = ""
    file: str = ""


Edit = Put | Patch | Delete


def etag_of(record: Record) -> str:
    """Return 16 hex digits that change whenever a field of the record changes."""
    return sha256(orjson.dumps(record.fields())).hexdigest()[:16]
