"""The description of a database in sorted lines: its tables with their order of columns, indexes, triggers and rows."""

import re

from sqlalchemy import Connection, inspect, text

_SIGNS = re.compile(r'[\s"()]')
_SQLITE = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_POSTGRESQL = {
    "relation": """
        SELECT relname, relkind, relpersistence, reloptions FROM pg_class WHERE relnamespace = 'public'::regnamespace
    """,
    "column": """
        SELECT relname, row_number() OVER (PARTITION BY attrelid ORDER BY attnum), attname,
            format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated, attcollation,
            pg_get_expr(adbin, adrelid)
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
            LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
        WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped
    """,
    "constraint": """
        SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace
    """,
    "index": "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "trigger": "SELECT tgrelid::regclass, tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
    "function": "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
    "sequence": """
        SELECT sequencename, data_type, start_value, min_value, max_value, increment_by, cycle
        FROM pg_sequences WHERE schemaname = 'public'
    """,
}


def describe_schema(connection: Connection) -> list[str]:
    """Return the lines; those of two databases are equal if no statement can distinguish their tables and rows."""
    described = _sqlite(connection) if connection.dialect.name == "sqlite" else _postgresql(connection)
    return sorted(described + _rows(connection))


def _sqlite(connection: Connection) -> list[str]:
    """Return the statements as SQLite keeps them, without spaces, quotes and parentheses, which ALTER TABLE sets otherwise."""
    return [
        f"{row.type} {row.name} of {row.tbl_name}: {_SIGNS.sub('', row.sql or 'automatic')}"
        for row in connection.execute(text(_SQLITE))
    ]


def _postgresql(connection: Connection) -> list[str]:
    return [f"{kind} {tuple(row)}" for kind, query in _POSTGRESQL.items() for row in connection.execute(text(query))]


def _rows(connection: Connection) -> list[str]:
    return [
        f"row of {table} {tuple(row)}"
        for table in inspect(connection).get_table_names()
        for row in connection.execute(text(f'SELECT * FROM "{table}"'))  # noqa: S608 - a name from the schema, quoted
    ]
