"""Who answers for each webhook: it is sent only what they may read."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the columns. Of earlier webhooks only a name is known, so they go on until somebody changes them."""
    op.add_column("webhooks", sa.Column("holder_kind", sa.String(20)))
    op.add_column("webhooks", sa.Column("holder_id", sa.Integer()))
    op.add_column("webhooks", sa.Column("holder_name", sa.String(100)))
