"""Identities of providers of OpenID Connect, their sessions and documents, and what may be used once."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "openid_identities",
        sa.Column("issuer", sa.String(500), primary_key=True),
        sa.Column("subject", sa.String(255), primary_key=True),
        sa.Column("user_id", sa.Integer, sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("openid_identities_by_user", "openid_identities", ["user_id"])
    op.create_table(
        "openid_sessions",
        sa.Column("session_id", sa.String(32), sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("issuer", sa.String(500), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("sid", sa.String(255)),
        sa.Column("refresh_token", sa.Text),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("openid_sessions_by_subject", "openid_sessions", ["issuer", "subject"])
    op.create_index("openid_sessions_by_sid", "openid_sessions", ["issuer", "sid"])
    op.create_table(
        "openid_documents",
        sa.Column("url_hash", sa.String(64), primary_key=True),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("fetched_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "openid_used",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("openid_used_by_expiry", "openid_used", ["expires_at"])
