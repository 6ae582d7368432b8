"""Silent agents as a column of the agents, with an index of those that are due: no sweep reads the others."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_KEY = ("namespace", "project", "name")


def upgrade() -> None:
    """Move the reported agents into the new column, and add the indexes."""
    op.add_column("agents", sa.Column("silent_since", sa.DateTime(timezone=True)))
    agents = sa.table("agents", *map(sa.column, (*_KEY, "last_seen_at", "silent_since")))
    silent = sa.table("silent_agents", *map(sa.column, (*_KEY, "at")))
    reported = sa.select(silent.c.at).where(*(silent.c[name] == agents.c[name] for name in _KEY)).scalar_subquery()
    op.execute(sa.update(agents).values(silent_since=reported))
    # From now on it is the time of the last heartbeat before the report, so that any later one is a recovery.
    is_silent = agents.c.last_seen_at <= agents.c.silent_since
    op.execute(sa.update(agents).where(is_silent).values(silent_since=agents.c.last_seen_at))
    op.drop_table("silent_agents")
    for name, rows in (("agents_heard", "silent_since IS NULL"), ("agents_back", "last_seen_at > silent_since")):
        op.create_index(
            name, "agents", ["last_seen_at"], sqlite_where=sa.text(rows), postgresql_where=sa.text(rows)
        )
