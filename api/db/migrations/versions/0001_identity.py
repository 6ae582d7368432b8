"""Users, roles, API tokens, sessions, agents and the audit trail."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

MOMENT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Create the first tables."""
    _create_identity()
    _create_sessions()
    _create_agents()
    _create_audit()
    numbers = op.create_table(
        "generation",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
    )
    op.bulk_insert(numbers, [{"id": 1, "number": 1}])


def _create_identity() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("username", sa.String(100), nullable=False),
        sa.Column("username_key", sa.String(100), nullable=False, unique=True),
        sa.Column("firstname", sa.String(100), nullable=False),
        sa.Column("lastname", sa.String(100), nullable=False),
        sa.Column("password_hash", sa.String(255), nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("last_login_at", MOMENT),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "user_roles",
        sa.Column("user_id", sa.Integer, sa.ForeignKey("users.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("role", sa.String(50), primary_key=True),
    )
    op.create_table(
        "roles",
        sa.Column("name", sa.String(50), primary_key=True),
        sa.Column("description", sa.String(200), nullable=False),
        sa.Column("grants", sa.JSON, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
    )
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False, unique=True),
        sa.Column("preview", sa.String(16), nullable=False),
        sa.Column("grants", sa.JSON, nullable=False),
        sa.Column("expires_at", MOMENT),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("created_by", sa.String(100), nullable=False),
        sa.Column("last_used_at", MOMENT),
        sqlite_autoincrement=True,
    )


def _create_sessions() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("user_id", sa.Integer, sa.ForeignKey("users.id", ondelete="CASCADE"), nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("access_until", MOMENT, nullable=False),
        sa.Column("revoked_at", MOMENT),
        sa.Column("revoked_because", sa.String(50)),
    )
    op.create_index("sessions_by_user", "sessions", ["user_id"])
    op.create_index("sessions_by_expiry", "sessions", ["expires_at"])
    op.create_index("sessions_by_revocation", "sessions", ["revoked_at"])
    op.create_table(
        "refresh_tokens",
        sa.Column("jti_hash", sa.String(64), primary_key=True),
        sa.Column("session_id", sa.String(32), sa.ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("parent", sa.String(64)),
        sa.Column("kid", sa.String(32), nullable=False),
        sa.Column("issued_at", MOMENT, nullable=False),
        sa.Column("expires_at", MOMENT, nullable=False),
        sa.Column("used_at", MOMENT),
        sa.Column("successor", sa.String(64)),
    )
    op.create_index("refresh_tokens_by_session", "refresh_tokens", ["session_id"])
    op.create_index("refresh_tokens_by_expiry", "refresh_tokens", ["expires_at"])


def _create_agents() -> None:
    op.create_table(
        "agents",
        sa.Column("namespace", sa.String(50), primary_key=True),
        sa.Column("project", sa.String(50), primary_key=True),
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("type", sa.String(20), nullable=False),
        sa.Column("version", sa.Text),
        sa.Column("commit", sa.String(64)),
        sa.Column("publish_number", sa.BigInteger),
        sa.Column("status", sa.String(20)),
        sa.Column("load_duration", sa.BigInteger),
        sa.Column("error", sa.Text),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("last_seen_at", MOMENT, nullable=False),
    )


def _create_audit() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("event", sa.String(50), nullable=False),
        sa.Column("actor_kind", sa.String(20), nullable=False),
        sa.Column("actor_id", sa.Integer),
        sa.Column("actor_name", sa.String(100), nullable=False),
        sa.Column("namespace", sa.String(50)),
        sa.Column("project", sa.String(50)),
        sa.Column("subject", sa.String(200), nullable=False),
        sa.Column("detail", sa.JSON, nullable=False),
        sa.Column("address", sa.String(64)),
        sqlite_autoincrement=True,
    )
    op.create_index("audit_by_time", "audit", ["at"])
