"""The faults of content that have an event."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "content_faults",
        sa.Column("namespace", sa.String(50), primary_key=True),
        sa.Column("project", sa.String(50), primary_key=True),
        sa.Column("fingerprint", sa.String(200), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
