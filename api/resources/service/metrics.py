"""The metrics of all workers, for Prometheus."""

from collections.abc import Callable
from pathlib import Path

from falcon.asgi import Request, Response

from api.data.last_backup import read_last_backup
from api.errors import Unavailable
from api.http.guard.access import any_principal
from api.metrics.collector import MetricsCollector
from api.metrics.exposition import CONTENT_TYPE, AuditEnds, render
from api.runtime.health.readiness_checks import ReadinessChecks
from api.runtime.jobs.background import run_in_thread

ReadAuditEnds = Callable[[], AuditEnds]
"""Returns the newest and the newest removed row of the audit trail, as of a second ago; 0 while they are not known."""


class Metrics:
    """The metrics of the service since its start."""

    def __init__(
        self,
        collector: MetricsCollector,
        readiness: ReadinessChecks,
        data: Path,
        audit_ends: ReadAuditEnds | None = None,
    ) -> None:
        self._meter = collector
        self._readiness = readiness
        self._data = data
        self._audit_ends = audit_ends

    @any_principal
    async def on_get(self, _req: Request, resp: Response) -> None:
        """Show all metrics of all workers, at most a second old.

        Open to any valid token: they hold numbers and route templates, and name no namespace, project or person.
        Prometheus sends a token that it reads from a file (`authorization: {credentials_file: ...}`).
        """
        try:
            checks = await self._readiness.run()
            backup = await run_in_thread(read_last_backup, self._data)
            faults = {name: result.faults for name, result in checks.items()}
            resp.data = render(
                await self._meter.read(),
                faults,
                backup.age if backup else None,
                self._audit_ends() if self._audit_ends else None,
            )
        except OSError as ex:
            raise Unavailable("The metrics cannot be read from disk. Try again.", "metrics_unavailable") from ex
        resp.content_type = CONTENT_TYPE
