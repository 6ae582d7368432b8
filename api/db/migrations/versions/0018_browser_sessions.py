"""The browser, address and last use of sessions."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the columns: of earlier sessions nothing is known."""
    with op.batch_alter_table("sessions") as table:
        table.add_column(sa.Column("user_agent", sa.String(200), nullable=False, server_default=""))
        table.add_column(sa.Column("address", sa.String(64)))
        table.add_column(sa.Column("last_seen_at", sa.DateTime(timezone=True)))
