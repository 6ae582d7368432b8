"""The routes of the service itself: health, metrics and the contract."""

from api.data.dashboard_files import DashboardFiles
from api.http.routing import Route
from api.interfaces import Dependencies
from api.metrics.collector import MetricsCollector
from api.resources.service.contract import Contract, Schemas
from api.resources.service.dashboard import DashboardAssets, DashboardEntry, DashboardStart, DashboardView
from api.resources.service.health import Ping, Ready
from api.resources.service.metrics import Metrics
from api.resources.service.preview_page import PreviewPage
from api.resources.service.start_page import StartPage
from api.runtime.health.readiness_checks import ReadinessChecks


def routes(dependencies: Dependencies, collector: MetricsCollector) -> list[Route]:
    """Return the routes of the service itself."""
    readiness = ReadinessChecks(dependencies.ready_checks)
    return [
        Route("/", _start_page(dependencies)),
        *_dashboard_routes(dependencies.dashboard),
        Route("/health/ping", Ping()),
        Route("/health/ready", Ready(readiness, dependencies.directory)),
        Route("/metrics", Metrics(collector, readiness, dependencies.settings.data, dependencies.audit_ends)),
        Route("/openapi.json", Contract()),
        Route("/schemas/{name}", Schemas()),
    ]


def _start_page(dependencies: Dependencies) -> object:
    """Return the resource at `/`: the dashboard if it is built, and a page of its own for other clients."""
    dashboard = dependencies.dashboard
    page = PreviewPage(dependencies.preview) if dependencies.preview else StartPage()
    return DashboardStart(dashboard.page, page) if dashboard else page


def _dashboard_routes(dashboard: DashboardFiles | None) -> list[Route]:
    """Return the routes of the views, their files, and the licences of what is bundled."""
    return [
        Route("/dashboard", DashboardEntry()),
        Route("/dashboard/{view:path}", DashboardView(dashboard and dashboard.page)),
        Route("/assets/{name}", DashboardAssets(dashboard.assets if dashboard else {})),
        Route("/licences", DashboardView(dashboard and dashboard.licences)),
    ]
