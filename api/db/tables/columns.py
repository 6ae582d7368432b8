"""The parts that all tables share: their collection, timestamps, and indexes of some rows."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, DateTime, Dialect, Index, MetaData, TypeDecorator, event, text

metadata = MetaData()


class Moment(TypeDecorator[datetime]):
    """An aware timestamp in UTC.

    SQLite has no type for it, and SQLAlchemy 2.1 stores text of one fixed form without the offset; in UTC the order of
    the text is the order of time: https://docs.sqlalchemy.org/en/21/dialects/sqlite.html#date-and-time-types
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Convert a timestamp for the database."""
        if value is None:
            return None
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        """Convert a timestamp from the database to UTC."""
        del dialect
        if value is None:
            return None
        moment: datetime = value
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def index_some(name: str, column: str, condition: str, *more: str) -> Index:
    """Return an index, by a column and more, of the rows that meet a condition; queries have to repeat it word by word."""
    index = Index(name, column, *more, sqlite_where=text(condition))
    event.listen(index, "before_create", _restrict_on_postgresql)
    return index


def _restrict_on_postgresql(index: Index, connection: Connection, **_options: object) -> None:
    """Set the condition for PostgreSQL only there: with `postgresql_where`, each start imports its dialect, 20 modules."""
    # SQLAlchemy 2.1 imports a dialect to check the names of its arguments:
    # https://docs.sqlalchemy.org/en/21/core/foundation.html#sqlalchemy.sql.base.DialectKWArgs
    if connection.dialect.name == "postgresql":
        index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
