"""The routes of the service itself: health, metrics and the contract."""

from api.http.routing import Route
from api.interfaces import Dependencies
from api.metrics.collector import MetricsCollector
from api.resources.service.contract import Contract, Schemas
from api.resources.service.health import Ping, Ready
from api.resources.service.metrics import Metrics
from api.resources.service.start_page import StartPage


def routes(dependencies: Dependencies, collector: MetricsCollector) -> list[Route]:
    """Return the routes of the service itself."""
    return [
        Route("/", StartPage()),
        Route("/health/ping", Ping()),
        Route("/health/ready", Ready(dependencies.ready_checks, dependencies.directory)),
        Route("/metrics", Metrics(collector)),
        Route("/openapi.json", Contract()),
        Route("/schemas/{name}", Schemas()),
    ]
