"""An index of the audit trail by request, since each push by path or SSH is looked up before it is recorded."""

from alembic import op

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Add the index."""
    op.create_index("audit_by_request", "audit", ["request", "event"])
