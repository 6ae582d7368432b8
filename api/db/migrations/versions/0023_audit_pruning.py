"""Checkpoints of the audit trail with counts and a chain of their own; who saw which API token, beside the trail."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Make the checkpoints again, which nothing has written yet, and copy from the trail who saw which token."""
    op.drop_table("audit_checkpoints")
    op.create_table(
        "audit_checkpoints",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("signature", sa.String(128), nullable=False),
    )
    viewers = op.create_table(
        "token_viewers",
        sa.Column("token_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("user_id", sa.Integer, primary_key=True, autoincrement=False),
    )
    trail = sa.table(
        "audit",
        sa.column("event", sa.String),
        sa.column("actor_kind", sa.String),
        sa.column("actor_id", sa.Integer),
        sa.column("detail", sa.JSON),
    )
    token = trail.c.detail["id"].as_integer()
    shown = trail.c.event.in_(["authn_token_created", "authn_token_rotated"])
    made = sa.select(token, trail.c.actor_id).where(shown, trail.c.actor_kind == "user", token.is_not(None))
    op.get_bind().execute(sa.insert(viewers).from_select(["token_id", "user_id"], made.distinct()))
