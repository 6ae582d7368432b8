"""The caller of the current request, which entries of the audit trail have; it goes along into the processes of jobs."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class UsedToken(NamedTuple):
    """The API token that a caller came with, a personal one too."""

    id: int
    name: str


class Caller(NamedTuple):
    """The origin of the current request: its address and id, the session of its access token, or its API token."""

    address: str | None = None
    request: str | None = None
    session: str | None = None
    token: UsedToken | None = None


_NO_CALLER = Caller()
caller: ContextVar[Caller] = ContextVar("audit_caller", default=_NO_CALLER)


def run_as(origin: Caller, work: Callable[[], T]) -> T:
    """Run the work of a request in another process, so that its entries have the origin of the request."""
    before = caller.set(origin)
    try:
        return work()
    finally:
        caller.reset(before)
