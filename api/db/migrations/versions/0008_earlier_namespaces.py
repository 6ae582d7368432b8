"""Records of earlier namespaces: their numbers, their archived webhooks and remarks; agent names of 100 characters."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add the tables and columns, and widen the names of agents."""
    op.create_table(
        "deleted_namespaces",
        sa.Column("name", sa.String(50), primary_key=True),
        sa.Column("archive", sa.String(100)),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "highest_numbers",
        sa.Column("namespace", sa.String(50), primary_key=True),
        sa.Column("project", sa.String(50), primary_key=True),
        sa.Column("number", sa.BigInteger(), nullable=False),
    )
    for table in ("webhooks", "reviews"):
        op.add_column(table, sa.Column("archive", sa.String(100)))
    for table in ("agents", "silent_agents"):
        with op.batch_alter_table(table) as batch:  # SQLite cannot alter a column: it copies the table
            batch.alter_column("name", type_=sa.String(100), existing_type=sa.String(64), existing_nullable=False)
