"""The hash chain of the audit trail, its checkpoints, and the counts of like refusals."""

import sqlalchemy as sa
from alembic import op

from api.db.audit_chain import chain_existing

revision = "0021"
down_revision = "0020"

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the columns and tables, and chain the rows that are there."""
    with op.batch_alter_table("audit") as table:
        table.add_column(sa.Column("session", sa.String(64)))
        table.add_column(sa.Column("request", sa.String(64)))
        table.add_column(sa.Column("count", sa.Integer, nullable=False, server_default="1"))
        table.add_column(sa.Column("previous", sa.String(64), nullable=False, server_default=""))
        table.add_column(sa.Column("hash", sa.String(64), nullable=False, server_default=""))
    op.create_table(
        "audit_head",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_table(
        "audit_checkpoints",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("signature", sa.String(128), nullable=False),
    )
    op.create_table(
        "audit_repeats",
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("minute", MOMENT, nullable=False),
        sa.Column("entry", sa.JSON, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
    )
    op.create_index("audit_repeats_by_minute", "audit_repeats", ["minute"])
    chain_existing(op.get_bind())
