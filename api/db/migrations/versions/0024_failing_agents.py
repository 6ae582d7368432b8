"""An index of the agents that report an error, of which there are few."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Add the index."""
    rows = sa.text("status = 'error'")
    op.create_index("agents_failing", "agents", ["namespace", "project"], sqlite_where=rows, postgresql_where=rows)
