"""Who may hear of what: one rule for those who follow events, for webhooks, and for a look at what was sent to them."""

from collections.abc import Iterable

import orjson

from api.collaborators import Principal
from api.state.deliveries import Delivery
from api.state.events import EventType
from api.state.webhooks import Webhook

_EVERY = "*"
_AGENTS = "agent."


def may_hear(principal: Principal, namespace: str, project: str, kind: str) -> bool:
    """Tell whether a caller may know of an event: as of the project itself, and of its agents only with their grant."""
    return all(principal.may(resource, "read", namespace, project) for resource in _resources([kind]))


def unheard(principal: Principal, webhook: Webhook) -> str | None:
    """The first grant that a principal lacks to read all that a webhook is sent, such as `project:read@shop/*`."""
    kinds = webhook.events or tuple(EventType)
    wanted = [(each, project) for project in webhook.projects or (_EVERY,) for each in _resources(kinds)]
    lacking = (pair for pair in wanted if not principal.may(pair[0], "read", webhook.namespace, pair[1]))
    return next((f"{resource}:read@{webhook.namespace}/{project}" for resource, project in lacking), None)


def may_see_body(principal: Principal, namespace: str, delivery: Delivery) -> bool:
    """Tell whether a caller may read what a delivery says; a ping, which is of no project, says nothing."""
    project = orjson.loads(delivery.body)["data"].get("project")
    return project is None or may_hear(principal, namespace, project, delivery.type)


def _resources(kinds: Iterable[str]) -> list[str]:
    """What must be readable for events of these kinds."""
    return ["project", *(["agent"] if any(kind.startswith(_AGENTS) for kind in kinds) else [])]
