"""The routes of the service itself: health, metrics and the contract."""

from api.http.routing import Route
from api.interfaces import Dependencies
from api.metrics.collector import MetricsCollector
from api.resources.service.contract import Contract, Schemas
from api.resources.service.health import Ping, Ready
from api.resources.service.metrics import Metrics
from api.resources.service.preview_page import PreviewPage
from api.resources.service.start_page import StartPage
from api.runtime.health.readiness_checks import ReadinessChecks


def routes(dependencies: Dependencies, collector: MetricsCollector) -> list[Route]:
    """Return the routes of the service itself."""
    readiness = ReadinessChecks(dependencies.ready_checks)
    return [
        Route("/", PreviewPage(dependencies.preview) if dependencies.preview else StartPage()),
        Route("/health/ping", Ping()),
        Route("/health/ready", Ready(readiness, dependencies.directory)),
        Route("/metrics", Metrics(collector, readiness, dependencies.settings.data, dependencies.audit_head)),
        Route("/openapi.json", Contract()),
        Route("/schemas/{name}", Schemas()),
    ]
