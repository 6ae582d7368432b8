"""Notifications: events, their cursors, silent agents, webhooks and deliveries."""

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

MOMENT = sa.DateTime(timezone=True)
_LONG_GONE = timedelta(hours=1)


def upgrade() -> None:
    """Create the tables; mark agents without a heartbeat in the last hour as silent, so that no event reports them."""
    _create_events()
    _create_webhooks()
    _create_deliveries()
    _note_long_gone()


def _note_long_gone() -> None:
    columns: list[sa.ColumnClause[str]] = [sa.column(name) for name in ("namespace", "project", "name")]
    seen = sa.column("last_seen_at", MOMENT)
    agents = sa.table("agents", *columns, seen)
    gone = sa.select(*columns, seen).select_from(agents).where(seen < datetime.now(UTC) - _LONG_GONE)
    silent = sa.table("silent_agents", *map(sa.column, ("namespace", "project", "name", "at")))
    op.execute(sa.insert(silent).from_select(["namespace", "project", "name", "at"], gone))


def _create_events() -> None:
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("namespace", sa.String(50), nullable=False),
        sa.Column("project", sa.String(50), nullable=False),
        sa.Column("type", sa.String(50), nullable=False),
        sa.Column("commit", sa.String(64)),
        sa.Column("body", sa.JSON, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("events_by_namespace", "events", ["namespace", "id"])
    op.create_index("events_by_time", "events", ["at"])
    op.create_index("events_by_publish", "events", ["namespace", "project", "commit"], unique=True)
    op.create_table(
        "tellings",
        sa.Column("namespace", sa.String(50), primary_key=True),
        sa.Column("project", sa.String(50), primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("commit", sa.String(64), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
    )
    op.create_table(
        "silent_agents",
        sa.Column("namespace", sa.String(50), primary_key=True),
        sa.Column("project", sa.String(50), primary_key=True),
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("at", MOMENT, nullable=False),
    )


def _create_webhooks() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("namespace", sa.String(50), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("events", sa.JSON, nullable=False),
        sa.Column("projects", sa.JSON, nullable=False),
        sa.Column("description", sa.String(200), nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("stopped_because", sa.String(50)),
        sa.Column("secret", sa.String(100), nullable=False),
        sa.Column("secret_before", sa.String(100)),
        sa.Column("secret_before_until", MOMENT),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("created_by", sa.String(100), nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("webhooks_by_namespace", "webhooks", ["namespace"])


def _create_deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("webhook_id", sa.Integer, sa.ForeignKey("webhooks.id", ondelete="CASCADE"), nullable=False),
        sa.Column("event_id", sa.Integer),
        sa.Column("message", sa.String(40), nullable=False, unique=True),
        sa.Column("type", sa.String(50), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("claims", sa.Integer, nullable=False),
        sa.Column("created_at", MOMENT, nullable=False),
        sa.Column("due_at", MOMENT),
        sa.Column("finished_at", MOMENT),
        sqlite_autoincrement=True,
    )
    op.create_index("deliveries_by_webhook", "deliveries", ["webhook_id", "id"])
    op.create_index("deliveries_by_due", "deliveries", ["status", "due_at"])
    op.create_index("deliveries_by_time", "deliveries", ["created_at"])
    op.create_table(
        "delivery_attempts",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("delivery_id", sa.Integer, sa.ForeignKey("deliveries.id", ondelete="CASCADE"), nullable=False),
        sa.Column("at", MOMENT, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("error", sa.String(50)),
        sa.Column("milliseconds", sa.Integer, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("delivery_attempts_by_delivery", "delivery_attempts", ["delivery_id"])
