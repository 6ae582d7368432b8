"""The nodes of pull requests: each node has drafts of its own, and so pull requests of its own."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"

_INDEX = "pull_requests_by_draft"


def upgrade() -> None:
    """Add the column: a pull request that is there is taken over by the node that publishes its draft next."""
    with op.batch_alter_table("pull_requests") as table:
        table.add_column(sa.Column("node", sa.String(32), nullable=False, server_default=""))
    op.drop_index(_INDEX, "pull_requests")
    op.create_index(_INDEX, "pull_requests", ["namespace", "project", "draft", "node"], unique=True)
