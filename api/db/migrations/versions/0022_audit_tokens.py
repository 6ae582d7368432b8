"""The API token by which an entry of the audit trail was caused; earlier entries keep their hashes."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Add the columns: of earlier entries, the token is not known."""
    op.add_column("audit", sa.Column("token_id", sa.Integer))
    op.add_column("audit", sa.Column("token_name", sa.String(100)))
