"""An index of the agents by version: after a publish, only the agents that run it are read."""

from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the index."""
    op.create_index("agents_versions", "agents", ["namespace", "project", "commit", "publish_number"])
