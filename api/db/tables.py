"""The tables, as of the newest migration; a test compares both."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    text,
)

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


def _index_some(name: str, column: str, condition: str) -> Index:
    """Return an index of the rows that meet a condition; queries have to repeat it word by word."""
    return Index(name, column, sqlite_where=text(condition), postgresql_where=text(condition))


generation = Table(
    "generation",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("number", BigInteger, nullable=False),
)

users = Table(
    "users",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("username", String(100), nullable=False),
    Column("username_key", String(100), nullable=False, unique=True),
    Column("firstname", String(100), nullable=False),
    Column("lastname", String(100), nullable=False),
    Column("password_hash", String(255), nullable=False),
    Column("active", Boolean, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("last_login_at", Moment),
    # Otherwise SQLite gives the largest id again after its row is deleted: https://www.sqlite.org/autoinc.html
    sqlite_autoincrement=True,  # a deleted user's token must never match the next user that is created
)

user_roles = Table(
    "user_roles",
    metadata,
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
    Column("role", String(50), primary_key=True),
)

roles = Table(
    "roles",
    metadata,
    Column("name", String(50), primary_key=True),
    Column("description", String(200), nullable=False),
    Column("grants", JSON, nullable=False),
    Column("created_at", Moment, nullable=False),
)

api_tokens = Table(
    "api_tokens",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("name", String(100), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("preview", String(16), nullable=False),
    Column("grants", JSON, nullable=False),
    Column("expires_at", Moment),
    Column("created_at", Moment, nullable=False),
    Column("created_by", String(100), nullable=False),
    Column("last_used_at", Moment),
    sqlite_autoincrement=True,
)

sessions = Table(
    "sessions",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Column("access_until", Moment, nullable=False),
    Column("revoked_at", Moment),
    Column("revoked_because", String(50)),
    Column("user_agent", String(200), nullable=False, server_default=""),
    Column("address", String(64)),
    Column("last_seen_at", Moment),  # null until a request after the login
    Index("sessions_by_user", "user_id"),
    Index("sessions_by_expiry", "expires_at"),
    Index("sessions_by_revocation", "revoked_at"),
)

refresh_tokens = Table(
    "refresh_tokens",
    metadata,
    Column("jti_hash", String(64), primary_key=True),
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
    Column("parent", String(64)),
    Column("kid", String(32), nullable=False),
    Column("issued_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Column("used_at", Moment),
    Column("successor", String(64)),
    Index("refresh_tokens_by_session", "session_id"),
    Index("refresh_tokens_by_expiry", "expires_at"),
)

openid_identities = Table(
    "openid_identities",
    metadata,
    Column("issuer", String(500), primary_key=True),
    Column("subject", String(255), primary_key=True),
    Column("user_id", ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
    Column("created_at", Moment, nullable=False),
    Index("openid_identities_by_user", "user_id"),
)

openid_sessions = Table(
    "openid_sessions",
    metadata,
    Column("session_id", ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    Column("issuer", String(500), nullable=False),
    Column("subject", String(255), nullable=False),
    Column("sid", String(255)),
    Column("refresh_token", Text),  # of the provider, encrypted
    Column("checked_at", Moment, nullable=False),
    Index("openid_sessions_by_subject", "issuer", "subject"),
    Index("openid_sessions_by_sid", "issuer", "sid"),
)

openid_documents = Table(
    "openid_documents",
    metadata,
    Column("url_hash", String(64), primary_key=True),
    Column("body", Text, nullable=False),
    Column("fetched_at", Moment, nullable=False),
)

openid_used = Table(
    "openid_used",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("expires_at", Moment, nullable=False),
    Index("openid_used_by_expiry", "expires_at"),
)

login_attempts = Table(
    "login_attempts",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("paid_at", Double, nullable=False),
    Index("login_attempts_by_payment", "paid_at"),
)

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
    _index_some("agents_heard", "seen_minute", "silent_since IS NULL"),
    _index_some("agents_back", "seen_minute", "last_seen_at > silent_since"),
    sqlite_with_rowid=False,  # stored by key: heartbeats that are written by key change few pages
)

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
    Index("audit_by_time", "at"),
    Index("audit_by_event", "event"),
    sqlite_autoincrement=True,
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

upstreams = Table(
    "upstreams",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("namespace", String(50), nullable=False),
    Column("archive", String(100), nullable=False),  # empty for an upstream in use
    Column("url", Text, nullable=False),
    Column("mode", String(20), nullable=False),
    Column("branch", String(250), nullable=False),
    Column("username", String(200), nullable=False),
    Column("password", Text, nullable=False),
    Column("hook_secret", String(200), nullable=False),
    Column("poll", Integer, nullable=False),
    Column("suspended", Boolean, nullable=False),
    Column("requests", Integer, nullable=False),
    Column("ssh_key", Text, nullable=False),
    Column("known_hosts", Text, nullable=False),
    Column("host", String(20), nullable=False),  # empty: guessed from the URL
    Column("host_url", Text, nullable=False),
    Column("host_token", Text, nullable=False),
    Column("publish", String(20), nullable=False),
    Column("path", String(250), nullable=False),
    Column("proposals", String(20), nullable=False),
    Column("drafts", String(20), nullable=False),
    Column("trusted_authors", Boolean, nullable=False),
    Index("upstreams_by_namespace", "namespace", "archive", unique=True),
)

host_webhooks = Table(
    "host_webhooks",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("namespace", String(50), nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("at", Moment, nullable=False),
    Index("host_webhooks_by_digest", "namespace", "digest", unique=True),
    Index("host_webhooks_by_time", "at"),
)

pull_requests = Table(
    "pull_requests",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("namespace", String(50), nullable=False),
    Column("project", String(50), nullable=False),
    Column("draft", String(50), nullable=False),
    Column("branch", String(250), nullable=False),
    Column("commit", String(40), nullable=False),
    Column("number", Integer, nullable=False),  # 0 until it is open on the host
    Column("url", Text, nullable=False),
    Column("state", String(20), nullable=False),
    Column("at", Moment, nullable=False),
    Index("pull_requests_by_draft", "namespace", "project", "draft", unique=True),
)

commit_statuses = Table(
    "commit_statuses",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("namespace", String(50), nullable=False),
    Column("commit", String(40), nullable=False),
    Column("context", String(250), nullable=False),
    Column("state", String(20), nullable=False),
    Column("text", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due_at", Moment, nullable=True),  # null once it is sent, or given up
    Column("error", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Index("commit_statuses_by_commit", "namespace", "commit", "context", unique=True),
    Index("commit_statuses_by_due", "due_at"),
)
