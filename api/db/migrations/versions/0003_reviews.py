"""Remarks on drafts: requests, approvals, rejections and comments."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create the table, and an index to find the users who created the tokens that changed a draft."""
    op.create_table(
        "reviews",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("namespace", sa.String(50), nullable=False),
        sa.Column("project", sa.String(50), nullable=False),
        sa.Column("draft", sa.String(50), nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
        sa.Column("action", sa.String(20), nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("item_kind", sa.String(20)),
        sa.Column("item_id", sa.String(16)),
        sa.Column("actor_kind", sa.String(20), nullable=False),
        sa.Column("actor_id", sa.Integer, nullable=False),
        sa.Column("actor_name", sa.String(100), nullable=False),
        sa.Column("display_name", sa.String(210), nullable=False),
        sa.Column("email", sa.String(100), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("reviews_by_head", "reviews", ["namespace", "project", "draft", "head"])
    op.create_index("audit_by_event", "audit", ["event"])
