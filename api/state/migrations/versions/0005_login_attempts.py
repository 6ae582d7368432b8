"""How many logins failed of late, by hashed key, so that all workers and nodes count together."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the table; what failed before is not known."""
    op.create_table(
        "login_attempts",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("paid_at", sa.Double(), nullable=False),
        sa.Index("login_attempts_by_payment", "paid_at"),
    )
