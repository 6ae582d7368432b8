"""Readiness of this node: its three states, the faults behind them, and the checks that find faults.

A fault is public in its code, message and action; its namespace, project and detail are for callers who may read them.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Status(StrEnum):
    """The state of a node, or of one check."""

    READY = "ready"
    DEGRADED = "degraded"  # agents get rules, but not everything works
    UNAVAILABLE = "unavailable"  # this node cannot serve: a load balancer has to use another one


_SEVERITY = list(Status)


@dataclass(frozen=True, slots=True)
class ServedVersion:
    """The version of a project that is served in spite of a fault."""

    version: str
    number: int


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that a check found, with its effect on the node.

    Anyone may read `code`, `message` and `action`, so they name no namespace, project, file or path. A fault of content
    has a `namespace`; its `detail` names the cause.
    """

    status: Status
    code: str
    message: str
    action: str
    namespace: str = ""
    project: str = ""
    detail: str = ""
    served: ServedVersion | None = None


@dataclass(frozen=True, slots=True)
class ReadyCheck:
    """A named check; `find` returns the present faults, none if all is well, and may block briefly.

    `age` returns the seconds since a check in the background looked, None before it did; without `age`, `find` looks.
    """

    name: str
    find: Callable[[], Sequence[Fault]]
    age: Callable[[], float | None] | None = None


class CheckResult(NamedTuple):
    """The faults that a check found, and their age in seconds; None for a check that looked when it was asked."""

    faults: Sequence[Fault]
    age: float | None = None


_OVERDUE_SECONDS = 60.0
_OVERDUE_ROUNDS = 3.0
_OVERDUE = Fault(
    Status.DEGRADED,
    "check_overdue",
    "A check in the background has not come to an end for too long, so the state of its part is not known.",
    "Read the log of the service, and look for a disk that does not respond.",
)


class FaultReport:
    """The present faults of one subject, reported by a background task that looks in rounds."""

    def __init__(self) -> None:
        self._faults: tuple[Fault, ...] = ()
        self._waits_since = time.monotonic()
        self._since: float | None = None
        self._seconds = 0.0

    def report(self, faults: Iterable[Fault]) -> None:
        """Replace the faults; an empty report is that all is well."""
        self._faults = tuple(faults)

    def end_round(self, begun: float) -> None:
        """Note that all of the subject was looked at since a time of the monotonic clock."""
        now = time.monotonic()
        self._since, self._seconds, self._waits_since = begun, now - begun, now

    def wait_again(self) -> None:
        """Begin to wait for the end of a round: until now there was nothing to look at, such as lost data."""
        self._waits_since = time.monotonic()

    def age(self) -> float | None:
        """Return the largest age of a finding, in seconds; None before the end of the first round."""
        return None if self._since is None else time.monotonic() - self._since

    def find(self) -> Sequence[Fault]:
        """Return the faults of the last report, and one if the next round takes far longer than the last one."""
        waited = time.monotonic() - self._waits_since
        is_overdue = waited > _OVERDUE_SECONDS + _OVERDUE_ROUNDS * self._seconds
        return (*self._faults, _OVERDUE) if is_overdue else self._faults


def worst(statuses: Iterable[Status]) -> Status:
    """Return the worst of some states; ready if there is none."""
    return max(statuses, key=_SEVERITY.index, default=Status.READY)
