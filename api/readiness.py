"""Readiness of this node: its three states, the faults behind them, and the checks that find faults.

A fault is public in its code, message and action; its namespace, project and detail are for callers who may read them.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


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
    """A named check; `find` returns the present faults, none if all is well, and may block briefly."""

    name: str
    find: Callable[[], Sequence[Fault]]


class FaultReport:
    """The present faults of one subject, reported by a background task: `ReadyCheck("disk", report.find)`."""

    def __init__(self) -> None:
        self._faults: tuple[Fault, ...] = ()

    def report(self, faults: Iterable[Fault]) -> None:
        """Replace the faults; an empty report is that all is well."""
        self._faults = tuple(faults)

    def find(self) -> Sequence[Fault]:
        """Return the faults of the last report."""
        return self._faults


def worst(statuses: Iterable[Status]) -> Status:
    """Return the worst of some states; ready if there is none."""
    return max(statuses, key=_SEVERITY.index, default=Status.READY)
