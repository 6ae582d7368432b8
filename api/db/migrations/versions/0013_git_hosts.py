"""The hosts of upstreams, the pull requests that publishes opened there, and the commit statuses."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Create the columns and tables."""
    for name, kind in (("host", sa.String(20)), ("host_url", sa.Text), ("host_token", sa.Text)):
        op.add_column("upstreams", sa.Column(name, kind, nullable=False, server_default=""))
    op.add_column("upstreams", sa.Column("publish", sa.String(20), nullable=False, server_default="push"))
    op.create_table(
        "pull_requests",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("namespace", sa.String(50), nullable=False),
        sa.Column("project", sa.String(50), nullable=False),
        sa.Column("draft", sa.String(50), nullable=False),
        sa.Column("branch", sa.String(250), nullable=False),
        sa.Column("commit", sa.String(40), nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("pull_requests_by_draft", "pull_requests", ["namespace", "project", "draft"], unique=True)
    op.create_table(
        "commit_statuses",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("namespace", sa.String(50), nullable=False),
        sa.Column("commit", sa.String(40), nullable=False),
        sa.Column("context", sa.String(250), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("commit_statuses_by_commit", "commit_statuses", ["namespace", "commit", "context"], unique=True)
    op.create_index("commit_statuses_by_due", "commit_statuses", ["due_at"])
