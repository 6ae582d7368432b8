"""Owners and roles of API tokens, and the values that they had before their last rotation."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add the columns: earlier tokens have no owner and no role."""
    # No foreign key: for one, SQLite needs a copy of the table, which would give the ids of removed tokens again.
    op.add_column("api_tokens", sa.Column("owner_id", sa.Integer))
    op.add_column("api_tokens", sa.Column("role", sa.String(50)))
    op.add_column("api_tokens", sa.Column("previous_hash", sa.String(64)))
    op.add_column("api_tokens", sa.Column("previous_until", sa.DateTime(timezone=True)))
    op.create_index("api_tokens_by_owner", "api_tokens", ["owner_id"])
    op.create_index("api_tokens_by_previous_hash", "api_tokens", ["previous_hash"])
