"""The table of agents."""

from sqlalchemy import BigInteger, Column, Index, String, Table, Text

from api.db.tables.columns import Moment, index_some, metadata

agents = Table(
    "agents",
    metadata,
    Column("namespace", String(50), primary_key=True),
    Column("project", String(50), primary_key=True),
    Column("name", String(100), primary_key=True),
    Column("type", String(20), nullable=False),
    Column("version", Text),
    Column("commit", String(64)),
    Column("publish_number", BigInteger),
    Column("status", String(20)),
    Column("load_duration", BigInteger),
    Column("error", Text),
    Column("created_at", Moment, nullable=False),
    Column("last_seen_at", Moment, nullable=False),
    Column("loaded_at", Moment),
    # Of `last_seen_at`: within a minute, heartbeats of neighbours change the same pages of the indexes.
    Column("seen_minute", BigInteger, nullable=False, server_default="0"),
    Column("silent_since", Moment),  # of a reported agent: the time of its last heartbeat before the report
    Index("agents_versions", "namespace", "project", "commit", "publish_number"),
    index_some("agents_heard", "seen_minute", "silent_since IS NULL"),
    index_some("agents_failing", "namespace", "status = 'error'", "project"),
    index_some("agents_back", "seen_minute", "last_seen_at > silent_since"),
    sqlite_with_rowid=False,  # stored by key: heartbeats that are written by key change few pages
)
