"""The tables of sign-in by OpenID Connect: identities, sessions, documents of the provider, and what was used once."""

from sqlalchemy import Column, ForeignKey, Index, String, Table, Text

from api.db.tables.columns import Moment, metadata

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
