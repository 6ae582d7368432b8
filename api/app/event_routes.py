"""The notification routes: event streams and webhooks."""

from api.events.streams import Streams
from api.events.webhooks import Webhooks
from api.http.routing import Route
from api.resources.service.events import AllEvents, Events
from api.resources.service.webhooks import Deliveries, WebhookList, WebhookResource
from api.runtime.serving.release_loader import ReleaseLoader

_NAMESPACE = "/api/namespace/{namespace}"
_WEBHOOK = _NAMESPACE + "/webhook/{id}"


def notice_routes(releases: ReleaseLoader, streams: Streams, webhooks: Webhooks) -> list[Route]:
    """Return every route of events and webhooks."""
    webhook, deliveries = WebhookResource(webhooks), Deliveries(webhooks)
    return [
        Route("/api/events", AllEvents(streams)),
        Route(_NAMESPACE + "/events", Events(releases, streams)),
        Route(_NAMESPACE + "/webhooks", WebhookList(releases, webhooks)),
        Route(_WEBHOOK, webhook),
        Route(_WEBHOOK + "/rotate", webhook, "rotate"),
        Route(_WEBHOOK + "/ping", webhook, "ping"),
        Route(_WEBHOOK + "/deliveries", deliveries),
        Route(_WEBHOOK + "/delivery/{delivery}", deliveries, "one"),
        Route(_WEBHOOK + "/delivery/{delivery}/redeliver", deliveries, "redeliver"),
    ]
