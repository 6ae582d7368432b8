"""An upstream's folder, its branches as proposals, and the place of drafts."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the columns: an upstream that exists stays as it is."""
    with op.batch_alter_table("upstreams") as table:
        table.add_column(sa.Column("path", sa.String(250), nullable=False, server_default=""))
        table.add_column(sa.Column("proposals", sa.String(20), nullable=False, server_default="none"))
        table.add_column(sa.Column("drafts", sa.String(20), nullable=False, server_default="local"))
