"""The setting of an upstream to create its branch or folder on the host."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Add the column: nothing is created for an upstream that exists."""
    with op.batch_alter_table("upstreams") as table:
        table.add_column(sa.Column("creates", sa.Boolean(), nullable=False, server_default=sa.false()))
