"""The upstreams of namespaces, and the webhooks of hosts that were accepted."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "upstreams",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("namespace", sa.String(50), nullable=False),
        sa.Column("archive", sa.String(100), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("mode", sa.String(20), nullable=False),
        sa.Column("branch", sa.String(250), nullable=False),
        sa.Column("username", sa.String(200), nullable=False),
        sa.Column("password", sa.Text, nullable=False),
        sa.Column("hook_secret", sa.String(200), nullable=False),
        sa.Column("poll", sa.Integer, nullable=False),
        sa.Column("suspended", sa.Boolean, nullable=False),
        sa.Column("requests", sa.Integer, nullable=False),
        sa.Column("ssh_key", sa.Text, nullable=False),
        sa.Column("known_hosts", sa.Text, nullable=False),
    )
    op.create_index("upstreams_by_namespace", "upstreams", ["namespace", "archive"], unique=True)
    op.create_table(
        "host_webhooks",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("namespace", sa.String(50), nullable=False),
        sa.Column("digest", sa.LargeBinary, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("host_webhooks_by_digest", "host_webhooks", ["namespace", "digest"], unique=True)
    op.create_index("host_webhooks_by_time", "host_webhooks", ["at"])
