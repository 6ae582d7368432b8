"""Inserts that take the place of a row with the same key, in one statement: two writers at once never fail by the key."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table
from sqlalchemy.dialects import sqlite


def upsert(connection: Connection, table: Table) -> Any:
    """Return an insert of the dialect in use, which has `on_conflict_do_update`."""
    return insert_for(connection.dialect.name, table)


def insert_for(dialect: str, table: Table) -> Any:
    """Return an insert of a dialect by its name, which has `on_conflict_do_update`."""
    # SQLAlchemy 2.1: the inserts of both dialects have no class in common.
    # https://docs.sqlalchemy.org/en/21/dialects/sqlite.html#insert-on-conflict-upsert
    if dialect == "postgresql":
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - 20 modules that SQLite needs not

        return postgresql.insert(table)
    return sqlite.insert(table)


def put_row(
    connection: Connection,
    table: Table,
    key: Sequence[str],
    row: Mapping[str, Any],
    changes: Mapping[str, Any] | None = None,
    only_if: ColumnElement[bool] | None = None,
) -> bool:
    """Insert a row, or change the one with the same values in the columns of a unique key; false if nothing changed.

    `changes` differ from the row where one is there already; it is left as it is unless `only_if` is true of it.
    """
    found = {name: value for name, value in row.items() if name not in key} | dict(changes or {})
    insertion = upsert(connection, table).values(**row)
    placed = insertion.on_conflict_do_update(index_elements=list(key), set_=found, where=only_if)
    return connection.execute(placed.returning(table.c[key[0]])).first() is not None


def add_row(connection: Connection, table: Table, key: Sequence[str], row: Mapping[str, Any]) -> bool:
    """Insert a row; false if one with the same values in the columns of a unique key is there, which stays."""
    insertion = upsert(connection, table).values(**row).on_conflict_do_nothing(index_elements=list(key))
    return connection.execute(insertion.returning(table.c[key[0]])).first() is not None
