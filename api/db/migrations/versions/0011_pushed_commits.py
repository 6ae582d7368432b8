"""The pushers of commits; and remarks are found by commit, whatever its branch is called."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Create the table, and replace the index of the remarks."""
    op.create_table(
        "pushed_commits",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("namespace", sa.String(50), nullable=False),
        sa.Column("archive", sa.String(100)),
        sa.Column("email", sa.String(100), nullable=False),
        sa.Column("first_byte", sa.Integer, nullable=False),
        sa.Column("commits", sa.LargeBinary, nullable=False),
    )
    op.create_index("pushed_commits_by_first_byte", "pushed_commits", ["namespace", "first_byte"])
    op.drop_index("reviews_by_head", table_name="reviews")
    op.create_index("reviews_by_commit", "reviews", ["namespace", "project", "head"])
