"""The tables of upstreams: their settings, and what is known of their hosts."""

from sqlalchemy import Boolean, Column, Index, Integer, LargeBinary, String, Table, Text, false

from api.db.tables.columns import Moment, metadata

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
    Column("host", String(20), nullable=False, server_default=""),  # empty: guessed from the URL
    Column("host_url", Text, nullable=False, server_default=""),
    Column("host_token", Text, nullable=False, server_default=""),
    Column("publish", String(20), nullable=False, server_default="push"),
    Column("path", String(250), nullable=False, server_default=""),
    Column("proposals", String(20), nullable=False, server_default="none"),
    Column("drafts", String(20), nullable=False, server_default="local"),
    Column("trusted_authors", Boolean, nullable=False, server_default=false()),
    Column("creates", Boolean, nullable=False, server_default=false()),
    Column("revision", Integer, nullable=False, server_default="0"),
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
    Column("node", String(32), nullable=False, server_default=""),  # the identity of its data directory
    Index("pull_requests_by_draft", "namespace", "project", "draft", "node", unique=True),
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
