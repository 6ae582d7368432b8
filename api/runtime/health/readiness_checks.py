"""The readiness checks of a worker, run off the event loop, with results that many requests share."""

import asyncio
import time
from collections.abc import Mapping, Sequence

from api import logs
from api.readiness import CheckResult, Fault, ReadyCheck, Status
from api.runtime.jobs.background import run_in_thread

VALID_SECONDS = 0.5  # results are shared for so long, since the path is public and the checks cost work
_BROKEN_CHECK = Fault(
    Status.DEGRADED,
    "check_failed",
    "The check itself failed, so its part may not work.",
    "Read the log of the service.",
)

_log = logs.logger("health")


class ReadinessChecks:
    """All checks of the node; requests at the same time cost one run."""

    def __init__(self, checks: Sequence[ReadyCheck]) -> None:
        self._checks = checks
        self._found: Mapping[str, CheckResult] = {}
        self._until = 0.0
        self._lock = asyncio.Lock()

    async def run(self) -> Mapping[str, CheckResult]:
        """Return the result of each check by its name."""
        async with self._lock:
            if time.monotonic() >= self._until:
                self._found = await run_in_thread(run_checks, self._checks)
                self._until = time.monotonic() + VALID_SECONDS
            return self._found


def run_checks(checks: Sequence[ReadyCheck]) -> dict[str, CheckResult]:
    """Run the checks; returns the result of each by its name."""
    return {check.name: _run(check) for check in checks}


def _run(check: ReadyCheck) -> CheckResult:
    try:
        age = check.age() if check.age else None  # before `find`: the faults may be younger, but never older
        return CheckResult(check.find(), age)
    except Exception:  # noqa: BLE001 - readiness is unknown after any exception of a check
        _log.exception("ready_check_failed", check=check.name)
        return CheckResult([_BROKEN_CHECK])
