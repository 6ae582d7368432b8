"""The route table: every path that the service answers, and the resource that answers it."""

from api.collaborators import Collaborators
from api.meter import Meter
from api.resources.contract import Contract, Schemas
from api.resources.health import Ping, Ready
from api.resources.metrics import Metrics
from api.routing import Route


def routes(collaborators: Collaborators, meter: Meter) -> list[Route]:
    """All routes; each responder's access is declared beside it."""
    return [
        Route("/health/ping", Ping()),
        Route("/health/ready", Ready(collaborators.ready_checks)),
        Route("/metrics", Metrics(meter)),
        Route("/openapi.json", Contract()),
        Route("/schemas/{name}", Schemas()),
    ]
