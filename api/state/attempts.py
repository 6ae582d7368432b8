"""Tries that may fail, counted in the database for all workers and nodes: so many at once, then one each interval.

Of each key one number is kept: when all its tries so far will have been paid for (the generic cell rate algorithm).
Of any number of callers at once exactly as many pass as the rate allows.
"""

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, case, delete, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from api.state.tables import login_attempts


class Rate(NamedTuple):
    """So many tries in so many seconds."""

    tries: int
    seconds: float

    @property
    def interval(self) -> float:
        """Seconds that pay for one try."""
        return self.seconds / self.tries


def wait_for(connection: Connection, rates: Mapping[str, Rate], now: float) -> float:
    """Seconds until each of the keys has a try left; 0 where all have one."""
    query = select(login_attempts.c.key, login_attempts.c.paid_at).where(login_attempts.c.key.in_(rates))
    found = connection.execute(query)
    waits = (max(paid_at, now) + rates[key].interval - rates[key].seconds - now for key, paid_at in found)
    return max(waits, default=0.0)


def take(connection: Connection, rates: Mapping[str, Rate], now: float) -> bool:
    """Take one try of each key; False where one has none left, and then the transaction must not be committed."""
    return all(_take(connection, key, rate, now) for key, rate in sorted(rates.items()))


def give_back(connection: Connection, rates: Mapping[str, Rate]) -> None:
    """Give back a try of each key."""
    for key, rate in sorted(rates.items()):
        taken = update(login_attempts).where(login_attempts.c.key == key)
        connection.execute(taken.values(paid_at=login_attempts.c.paid_at - rate.interval))


def sweep(connection: Connection, now: float, seconds: float) -> None:
    """Forget keys whose tries are paid for, and those that a clock which was wrong has put far off."""
    paid_at = login_attempts.c.paid_at
    connection.execute(delete(login_attempts).where(or_(paid_at <= now, paid_at > now + 2 * seconds)))


def _take(connection: Connection, key: str, rate: Rate, now: float) -> bool:
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    paid_at = login_attempts.c.paid_at
    next_at: ColumnElement[float] = case((paid_at > now, paid_at), else_=now) + rate.interval
    statement = (
        insert(login_attempts)
        .values(key=key, paid_at=now + rate.interval)
        .on_conflict_do_update(
            index_elements=["key"], set_={"paid_at": next_at}, where=next_at <= now + rate.seconds + _ROUNDING
        )
        .returning(paid_at)
    )
    return connection.execute(statement).first() is not None


_ROUNDING = 1e-3
"""Seconds by which a sum of intervals may miss the whole: intervals are fractions."""
