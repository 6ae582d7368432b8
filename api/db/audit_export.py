"""The export of the audit trail as JSON lines, with its checkpoints and the head of its chain."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from sqlalchemy import Connection

from api.db.audit_chain import Link, dump_body, dump_canonical, read_head, read_rows
from api.db.audit_checkpoints import list_checkpoints


def export_lines(connection: Connection) -> Iterator[bytes]:
    """Yield the checkpoints, then the rows, oldest first, each with its hash, then the head; in one snapshot.

    The hash of a row is the SHA-256 of its line without `hash`, so a reader can check it.
    """
    head, after = read_head(connection), 0
    while after < head.number:
        lines, after = read_lines(connection, after, head)
        yield from lines
    yield dump_head(head)


def read_lines(connection: Connection, after: int, head: Link, most: int = 1000) -> tuple[list[bytes], int]:
    """Return the next lines of an export up to a head, and the number after which to continue.

    Rows that were removed since the last lines have their checkpoint in their place.
    """
    checkpoints = list_checkpoints(connection, after)
    after = checkpoints[-1].number if checkpoints else after
    rows = [row for row in islice(read_rows(connection, after), most) if row["id"] <= head.number]
    lines = [dump_line({"checkpoint": each.dump()}) for each in checkpoints] + [
        dump_line(_show_row(row)) for row in rows
    ]
    return lines, rows[-1]["id"] if rows else head.number


def dump_head(head: Link) -> bytes:
    """Return the last line."""
    return dump_line({"head": head._asdict()})


def dump_line(value: Mapping[str, Any]) -> bytes:
    """Return the line of a value."""
    return dump_canonical(value) + b"\n"


def _show_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**dump_body(row), "hash": row["hash"]}
