"""The export of the audit trail as JSON lines, with the head of its chain."""

from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection

from api.db.audit_chain import dump_body, dump_canonical, read_head, read_rows


def export_lines(connection: Connection) -> Iterator[bytes]:
    """Yield the rows, oldest first, each with its hash, then the head.

    The hash of a row is the SHA-256 of its line without `hash`, so a reader can check it.
    """
    head = read_head(connection)
    for row in read_rows(connection):
        if row["id"] > head.number:
            break
        yield dump_line(show_row(row))
    yield dump_line({"head": head._asdict()})


def show_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as it is exported."""
    return {**dump_body(row), "hash": row["hash"]}


def dump_line(value: Mapping[str, Any]) -> bytes:
    """Return the line of a value."""
    return dump_canonical(value) + b"\n"
