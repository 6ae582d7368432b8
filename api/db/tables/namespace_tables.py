"""The tables of namespaces: reviews, pushed commits, deletions, numbers and faults of content."""

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, String, Table, Text

from api.db.tables.columns import Moment, metadata

reviews = Table(
    "reviews",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Moment, nullable=False),
    Column("namespace", String(50), nullable=False),
    Column("project", String(50), nullable=False),
    Column("draft", String(50), nullable=False),
    Column("head", String(64), nullable=False),
    Column("action", String(20), nullable=False),
    Column("note", Text, nullable=False),
    Column("item_kind", String(20)),
    Column("item_id", String(16)),
    Column("actor_kind", String(20), nullable=False),
    Column("actor_id", Integer, nullable=False),
    Column("actor_name", String(100), nullable=False),
    Column("display_name", String(210), nullable=False),
    Column("email", String(100), nullable=False),
    Column("archive", String(100)),
    Index("reviews_by_commit", "namespace", "project", "head"),
    Index("reviews_by_draft", "namespace", "draft", "project", "archive", "action"),
    sqlite_autoincrement=True,
)

pushed_commits = Table(
    "pushed_commits",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Moment, nullable=False),
    Column("namespace", String(50), nullable=False),
    Column("archive", String(100)),
    Column("email", String(100), nullable=False),
    Column("first_byte", Integer, nullable=False),
    Column("commits", LargeBinary, nullable=False),
    Index("pushed_commits_by_first_byte", "namespace", "first_byte"),
)

deleted_namespaces = Table(
    "deleted_namespaces",
    metadata,
    Column("name", String(50), primary_key=True),
    Column("archive", String(100)),
    Column("at", Moment, nullable=False),
)

highest_numbers = Table(
    "highest_numbers",
    metadata,
    Column("namespace", String(50), primary_key=True),
    Column("project", String(50), primary_key=True),
    Column("number", BigInteger, nullable=False),
)

content_faults = Table(
    "content_faults",
    metadata,
    Column("namespace", String(50), primary_key=True),
    Column("project", String(50), primary_key=True),
    Column("fingerprint", String(200), nullable=False),
    Column("at", Moment, nullable=False),
)
