"""The trust in the authors of the commits of an upstream's branches."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the column: authors of an upstream that exists are not trusted."""
    with op.batch_alter_table("upstreams") as table:
        table.add_column(sa.Column("trusted_authors", sa.Boolean(), nullable=False, server_default=sa.false()))
