"""Rate limits of attempts, shared by all workers and nodes: a number of attempts at once, then one per interval.

Each key has one number: the time at which all its attempts so far are paid for (the generic cell rate algorithm,
https://en.wikipedia.org/wiki/Generic_cell_rate_algorithm). Of concurrent callers, exactly as many pass as the rate
allows.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Float, bindparam, case, delete, or_, select, update

from api.db.tables import login_attempts
from api.db.upserts import insert_for


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
    found = connection.execute(_PAID, {"keys": list(rates)})
    waits = (max(paid_at, now) + rates[key].interval - rates[key].seconds - now for key, paid_at in found)
    return max(waits, default=0.0)


def take(connection: Connection, rates: Mapping[str, Rate], now: float) -> bool:
    """Take one attempt of each key; False if a key has none left: then do not commit the transaction."""
    statement = _taking(connection.dialect.name)
    return all(
        connection.execute(statement, _values(key, rate, now)).first() is not None
        for key, rate in sorted(rates.items())
    )


def refund(connection: Connection, rates: Mapping[str, Rate]) -> None:
    """Refund one attempt of each key."""
    taken = [{"own_key": key, "interval": rate.interval} for key, rate in sorted(rates.items())]
    if taken:
        connection.execute(_REFUND, taken)


def sweep(connection: Connection, now: float, seconds: float) -> None:
    """Remove keys with all attempts paid for, and keys that an incorrect clock has moved far into the future."""
    paid_at = login_attempts.c.paid_at
    connection.execute(delete(login_attempts).where(or_(paid_at <= now, paid_at > now + 2 * seconds)))


def _values(key: str, rate: Rate, now: float) -> dict[str, object]:
    """Return the parameters of `_taking`."""
    interval, latest = rate.interval, now + rate.seconds + _ROUNDING
    return {"key": key, "paid_at": now + interval, "now": now, "interval": interval, "latest": latest}


# Each login runs these statements, while polls of agents wait for the interpreter: they are built once.


@lru_cache(maxsize=4)
def _taking(dialect: str) -> Any:
    """Return the statement that takes one attempt of a key; it returns no row if none is left."""
    paid_at, now = login_attempts.c.paid_at, bindparam("now", type_=Float)
    next_at: ColumnElement[float] = case((paid_at > now, paid_at), else_=now) + bindparam("interval", type_=Float)
    return (
        insert_for(dialect, login_attempts)
        .on_conflict_do_update(
            index_elements=["key"], set_={"paid_at": next_at}, where=next_at <= bindparam("latest", type_=Float)
        )
        .returning(paid_at)
    )


_PAID = select(login_attempts.c.key, login_attempts.c.paid_at).where(
    login_attempts.c.key.in_(bindparam("keys", expanding=True))
)
_REFUND = (
    update(login_attempts)
    .where(login_attempts.c.key == bindparam("own_key"))
    .values(paid_at=login_attempts.c.paid_at - bindparam("interval", type_=Float))
)
_ROUNDING = 1e-3  # seconds; intervals are fractions, so their sum may differ from the whole
