"""The number of times that an upstream was set, so that who changes it can tell that someone else did."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Add the column."""
    with op.batch_alter_table("upstreams") as table:
        table.add_column(sa.Column("revision", sa.Integer(), nullable=False, server_default="0"))
