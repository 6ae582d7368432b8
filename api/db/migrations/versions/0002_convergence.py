"""The time at which each agent first reported its version, to show how a publish spreads."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column; for earlier reports, use the latest possible time."""
    op.add_column("agents", sa.Column("loaded_at", sa.DateTime(timezone=True)))
    agents = sa.table("agents", *map(sa.column, ("loaded_at", "last_seen_at", "publish_number", "status")))
    known = agents.c.publish_number.is_not(None) & agents.c.status.is_distinct_from("error")
    op.execute(sa.update(agents).where(known).values(loaded_at=agents.c.last_seen_at))
