"""The routes of upstreams."""

from api.app.services import Services
from api.http.routing import Route
from api.resources.service.upstreams import HostWebhookResource, UpstreamResource
from api.runtime.serving.release_loader import ReleaseLoader
from api.upstreams.host_webhooks import HostWebhooks
from api.upstreams.upstreams import Upstreams

_UPSTREAM = "/api/namespace/{namespace}/upstream"


def upstream_routes(releases: ReleaseLoader, services: Services, upstreams: Upstreams) -> list[Route]:
    """Return every route of upstreams."""
    resource = UpstreamResource(releases, upstreams)
    return [
        Route(_UPSTREAM, resource),
        Route(_UPSTREAM + "/sync", resource, "sync"),
        Route(_UPSTREAM + "/suspend", resource, "suspend"),
        Route(_UPSTREAM + "/resume", resource, "resume"),
        Route(_UPSTREAM + "/webhook", HostWebhookResource(HostWebhooks(services.state, services.clock))),
    ]
