"""An index of the remarks by draft, since the overview looks up the last step of each open draft."""

from alembic import op

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Add the index."""
    op.create_index("reviews_by_draft", "reviews", ["namespace", "draft", "project", "archive", "action"])
