"""Agents in the order of their names on disk, with an index of those that are due to be reported silent."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_KEY = ("namespace", "project", "name")


def upgrade() -> None:
    """Store the agents again by their key, with the minute of the last heartbeat; move the reported ones into a column."""
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    with op.batch_alter_table(
        "agents", recreate="always" if is_sqlite else "never", table_kwargs={"sqlite_with_rowid": False}
    ) as batch:
        batch.add_column(sa.Column("seen_minute", sa.BigInteger(), nullable=False, server_default="0"))
        batch.add_column(sa.Column("silent_since", sa.DateTime(timezone=True)))
    agents = sa.table("agents", *map(sa.column, (*_KEY, "last_seen_at", "seen_minute", "silent_since")))
    seconds = (
        "CAST(strftime('%s', last_seen_at) AS INTEGER)" if is_sqlite else "floor(extract(epoch FROM last_seen_at))"
    )
    op.execute(
        sa.update(agents).values(seen_minute=sa.text(f"{seconds} / 60" if is_sqlite else f"floor({seconds} / 60)"))
    )
    silent = sa.table("silent_agents", *map(sa.column, (*_KEY, "at")))
    reported = sa.select(silent.c.at).where(*(silent.c[name] == agents.c[name] for name in _KEY)).scalar_subquery()
    op.execute(sa.update(agents).values(silent_since=reported))
    # From now on it is the time of the last heartbeat before the report, so that any later one is a recovery.
    is_silent = agents.c.last_seen_at <= agents.c.silent_since
    op.execute(sa.update(agents).where(is_silent).values(silent_since=agents.c.last_seen_at))
    op.drop_table("silent_agents")
    for name, rows in (("agents_heard", "silent_since IS NULL"), ("agents_back", "last_seen_at > silent_since")):
        op.create_index(name, "agents", ["seen_minute"], sqlite_where=sa.text(rows), postgresql_where=sa.text(rows))
