"""Timestamps, always aware and in UTC; a clock is a parameter, so that tests can set it."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def dump_time(moment: datetime) -> str:
    """Format a time as RFC 3339 in UTC, to the second: `2026-11-20T21:52:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def load_time(text: str) -> datetime:
    """Parse an RFC 3339 text; ValueError if it is invalid or has no offset from UTC."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("The time has no offset from UTC. Write it as 2026-12-31T23:59:59Z.")
    try:
        return moment.astimezone(UTC)
    except OverflowError as ex:
        raise ValueError("The time is outside the years 1 to 9999 in UTC.") from ex
