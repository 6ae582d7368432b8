"""The owner of each webhook, whose grants limit the events that it receives."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns. Earlier webhooks have only a name, so they stay without an owner until a user changes them."""
    op.add_column("webhooks", sa.Column("holder_kind", sa.String(20)))
    op.add_column("webhooks", sa.Column("holder_id", sa.Integer()))
    op.add_column("webhooks", sa.Column("holder_name", sa.String(100)))
