"""The visibility of events: one rule for event streams, webhooks, and the list of deliveries."""

from collections.abc import Iterable

import orjson

from api.db.events.deliveries import Delivery
from api.db.events.events import EventType
from api.db.events.webhooks import Webhook
from api.interfaces import Principal

_EVERY = "*"
_AGENTS = "agent."


def can_see_event(principal: Principal, namespace: str, project: str, kind: str) -> bool:
    """Return whether a caller may see an event: with `project:read`, and for events of agents also `agent:read`."""
    return all(principal.can(resource, "read", namespace, project) for resource in _resources([kind]))


def find_missing_grant(principal: Principal, webhook: Webhook) -> str | None:
    """Return the first grant that a principal lacks for the events of a webhook, such as `project:read@shop/*`."""
    kinds = webhook.events or tuple(EventType)
    wanted = [(each, project) for project in webhook.projects or (_EVERY,) for each in _resources(kinds)]
    lacking = (pair for pair in wanted if not principal.can(pair[0], "read", webhook.namespace, pair[1]))
    return next((f"{resource}:read@{webhook.namespace}/{project}" for resource, project in lacking), None)


def can_see_body(principal: Principal, namespace: str, delivery: Delivery) -> bool:
    """Return whether a caller may read the body of a delivery; a ping has no project, so anyone may read it."""
    project = orjson.loads(delivery.body)["data"].get("project")
    return project is None or can_see_event(principal, namespace, project, delivery.type)


def _resources(kinds: Iterable[str]) -> list[str]:
    """Return the resources that must be readable for events of these kinds."""
    return ["project", *(["agent"] if any(kind.startswith(_AGENTS) for kind in kinds) else [])]
