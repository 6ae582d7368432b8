"""Moments in time: always aware, always UTC; a clock is a parameter, so that tests can set it."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The wall clock, in UTC."""
    return datetime.now(UTC)


def dump_time(moment: datetime) -> str:
    """RFC 3339 in UTC, to the second: `2026-11-20T21:52:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def load_time(text: str) -> datetime:
    """The moment that an RFC 3339 text names; ValueError where it is none or tells no offset from UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("The time needs its offset from UTC, such as 2026-12-31T23:59:59Z.")
    try:
        return moment.astimezone(UTC)
    except OverflowError as ex:
        raise ValueError("The time lies outside the years that can be told in UTC.") from ex
