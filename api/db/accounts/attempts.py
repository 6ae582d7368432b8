"""Rate limits of attempts, shared by all workers and nodes: a number of attempts at once, then one per interval.

Each key has one number: the time at which all its attempts so far are paid for (the generic cell rate algorithm,
https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm). Of concurrent callers, exactly as many pass as the rate
allows.
"""

from collections.abc import Mapping
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, case, delete, or_, select, update

from api.db.tables import login_attempts
from api.db.upserts import upsert


class Rate(NamedTuple):
    """A number of tries allowed in a number of seconds."""

    tries: int
    seconds: float

    @property
    def interval(self) -> float:
        """The seconds that pay for one attempt."""
        return self.seconds / self.tries


def seconds_until_free(connection: Connection, rates: Mapping[str, Rate], now: float) -> float:
    """Return the seconds until each of the keys has an attempt left; 0 if all have one."""
    query = select(login_attempts.c.key, login_attempts.c.paid_at).where(login_attempts.c.key.in_(rates))
    found = connection.execute(query)
    waits = (max(paid_at, now) + rates[key].interval - rates[key].seconds - now for key, paid_at in found)
    return max(waits, default=0.0)


def take(connection: Connection, rates: Mapping[str, Rate], now: float) -> bool:
    """Take one attempt of each key; False if a key has none left: then do not commit the transaction."""
    return all(_take(connection, key, rate, now) for key, rate in sorted(rates.items()))


def refund(connection: Connection, rates: Mapping[str, Rate]) -> None:
    """Refund one attempt of each key."""
    for key, rate in sorted(rates.items()):
        taken = update(login_attempts).where(login_attempts.c.key == key)
        connection.execute(taken.values(paid_at=login_attempts.c.paid_at - rate.interval))


def sweep(connection: Connection, now: float, seconds: float) -> None:
    """Remove keys with all attempts paid for, and keys that an incorrect clock has moved far into the future."""
    paid_at = login_attempts.c.paid_at
    connection.execute(delete(login_attempts).where(or_(paid_at <= now, paid_at > now + 2 * seconds)))


def _take(connection: Connection, key: str, rate: Rate, now: float) -> bool:
    paid_at = login_attempts.c.paid_at
    next_at: ColumnElement[float] = case((paid_at > now, paid_at), else_=now) + rate.interval
    statement = (
        upsert(connection, login_attempts)
        .values(key=key, paid_at=now + rate.interval)
        .on_conflict_do_update(
            index_elements=["key"], set_={"paid_at": next_at}, where=next_at <= now + rate.seconds + _ROUNDING
        )
        .returning(paid_at)
    )
    return connection.execute(statement).first() is not None


_ROUNDING = 1e-3  # seconds; intervals are fractions, so their sum may differ from the whole
