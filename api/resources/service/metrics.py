"""The metrics of all workers, for Prometheus."""

from collections.abc import Callable
from pathlib import Path

from falcon.asgi import Request, Response

from api.data.last_backup import read_last_backup
from api.errors import Unavailable
from api.http.guard.access import any_principal
from api.metrics.collector import MetricsCollector
from api.metrics.exposition import CONTENT_TYPE, render
from api.runtime.health.readiness_checks import ReadinessChecks
from api.runtime.jobs.background import run_in_thread

AuditHead = Callable[[], tuple[int, str]]
"""Returns the number and hash of the newest row of the audit trail, as of a second ago; 0 while it is not known."""


class Metrics:
    """The metrics of the service since its start."""

    def __init__(
        self, collector: MetricsCollector, readiness: ReadinessChecks, data: Path, audit_head: AuditHead | None = None
    ) -> None:
        self._meter = collector
        self._readiness = readiness
        self._data = data
        self._audit_head = audit_head

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
                self._audit_head() if self._audit_head else None,
            )
        except OSError as ex:
            raise Unavailable("The metrics cannot be read from disk. Try again.", "metrics_unavailable") from ex
        resp.content_type = CONTENT_TYPE
