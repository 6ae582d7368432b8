"""The tables of what has happened: audit, events, webhooks and their deliveries."""

from sqlalchemy import JSON, BigInteger, Boolean, Column, ForeignKey, Index, Integer, String, Table, Text

from api.db.tables.columns import Moment, metadata

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Moment, nullable=False),
    Column("event", String(50), nullable=False),
    Column("actor_kind", String(20), nullable=False),
    Column("actor_id", Integer),
    Column("actor_name", String(100), nullable=False),
    Column("namespace", String(50)),
    Column("project", String(50)),
    Column("subject", String(200), nullable=False),
    Column("detail", JSON, nullable=False),
    Column("address", String(64)),
    Column("session", String(64)),
    Column("request", String(64)),
    Column("count", Integer, nullable=False, server_default="1"),
    Column("previous", String(64), nullable=False, server_default=""),
    Column("hash", String(64), nullable=False, server_default=""),
    Column("token_id", Integer),
    Column("token_name", String(100)),
    Index("audit_by_time", "at"),
    Index("audit_by_event", "event"),
    Index("audit_by_request", "request", "event"),
    sqlite_autoincrement=True,
)

audit_head = Table(
    "audit_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", Integer, nullable=False),
    Column("hash", String(64), nullable=False),
)

audit_checkpoints = Table(
    "audit_checkpoints",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("hash", String(64), nullable=False),
    Column("count", Integer, nullable=False),
    Column("at", Moment, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("key", String(64), nullable=False),
    Column("signature", String(128), nullable=False),
)

audit_repeats = Table(
    "audit_repeats",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("minute", Moment, nullable=False),
    Column("entry", JSON, nullable=False),
    Column("count", Integer, nullable=False),
    Index("audit_repeats_by_minute", "minute"),
)

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Moment, nullable=False),
    Column("namespace", String(50), nullable=False),
    Column("project", String(50), nullable=False),
    Column("type", String(50), nullable=False),
    Column("commit", String(64)),
    Column("body", JSON, nullable=False),
    Index("events_by_namespace", "namespace", "id"),
    Index("events_by_time", "at"),
    Index("events_by_publish", "namespace", "project", "commit", unique=True),
    sqlite_autoincrement=True,  # a client that reconnects sends the last id it received, so no id may be used twice
)

event_cursors = Table(
    "tellings",  # the name that migration 0004 gave the table
    metadata,
    Column("namespace", String(50), primary_key=True),
    Column("project", String(50), primary_key=True),
    Column("number", BigInteger, nullable=False),
    Column("commit", String(64), nullable=False),
    Column("at", Moment, nullable=False),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("namespace", String(50), nullable=False),
    Column("url", Text, nullable=False),
    Column("events", JSON, nullable=False),
    Column("projects", JSON, nullable=False),
    Column("description", String(200), nullable=False),
    Column("active", Boolean, nullable=False),
    Column("stopped_because", String(50)),
    Column("secret", String(100), nullable=False),
    Column("secret_before", String(100)),
    Column("secret_before_until", Moment),
    Column("created_at", Moment, nullable=False),
    Column("created_by", String(100), nullable=False),
    Column("holder_kind", String(20)),
    Column("holder_id", Integer),
    Column("holder_name", String(100)),
    Column("archive", String(100)),
    Index("webhooks_by_namespace", "namespace"),
    sqlite_autoincrement=True,
)

deliveries = Table(
    "deliveries",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("webhook_id", ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
    Column("event_id", Integer),
    Column("message", String(40), nullable=False, unique=True),
    Column("type", String(50), nullable=False),
    Column("body", Text, nullable=False),
    Column("status", String(20), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("claims", Integer, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("due_at", Moment),
    Column("finished_at", Moment),
    Index("deliveries_by_webhook", "webhook_id", "id"),
    Index("deliveries_by_due", "status", "due_at"),
    Index("deliveries_by_time", "created_at"),
    sqlite_autoincrement=True,
)

delivery_attempts = Table(
    "delivery_attempts",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("delivery_id", ForeignKey("deliveries.id", ondelete="CASCADE"), nullable=False),
    Column("at", Moment, nullable=False),
    Column("status", Integer),
    Column("error", String(50)),
    Column("milliseconds", Integer, nullable=False),
    Column("answer", Text, nullable=False),
    Index("delivery_attempts_by_delivery", "delivery_id"),
    sqlite_autoincrement=True,
)
