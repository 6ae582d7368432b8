"""The routes of what is told to others: events to follow, and webhooks."""

from api.notice.streams import Streams
from api.notice.webhooks import Webhooks
from api.resources.events import Events
from api.resources.webhooks import Deliveries, WebhookList, WebhookResource
from api.routing import Route
from api.served import Served

_NAMESPACE = "/api/namespace/{namespace}"
_WEBHOOK = _NAMESPACE + "/webhook/{id}"


def notice_routes(served: Served, streams: Streams, webhooks: Webhooks) -> list[Route]:
    """Every route of events and webhooks."""
    webhook, deliveries = WebhookResource(webhooks), Deliveries(webhooks)
    return [
        Route(_NAMESPACE + "/events", Events(served, streams)),
        Route(_NAMESPACE + "/webhooks", WebhookList(served, webhooks)),
        Route(_WEBHOOK, webhook),
        Route(_WEBHOOK + "/rotate", webhook, "rotate"),
        Route(_WEBHOOK + "/ping", webhook, "ping"),
        Route(_WEBHOOK + "/deliveries", deliveries),
        Route(_WEBHOOK + "/delivery/{delivery}", deliveries, "one"),
        Route(_WEBHOOK + "/delivery/{delivery}/redeliver", deliveries, "redeliver"),
    ]
