"""Counts of recent failed logins, by hashed key, shared by all workers and nodes."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the table, without the failures before the migration."""
    op.create_table(
        "login_attempts",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("paid_at", sa.Double(), nullable=False),
        sa.Index("login_attempts_by_payment", "paid_at"),
    )
