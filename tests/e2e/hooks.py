"""Webhooks of a place: made, and looked at until something is settled."""

from typing import Any

from tests.e2e.stream import following
from tests.e2e.world import Place
from tests.service import wait_until

PATIENCE = 60.0
SETTINGS = {
    "WAYPOST_WEBHOOK_NETWORKS": "127.0.0.0/8",
    "WAYPOST_WEBHOOK_RETRIES": "0,0,0",
    "WAYPOST_WEBHOOK_TIMEOUT": "1",
}


def told(place: Place) -> Place:
    """A place whose first publish was told already, so that a webhook of afterwards never hears of it."""
    with following(place, after="0") as follower:
        follower.wait(1)
    return place


def hook(place: Place, url: str, **fields: Any) -> Any:
    """A new webhook, with its secret."""
    body = {"url": url, "events": ["published", "rolled_back"], **fields}
    return place.root.ask("POST", f"{place.space}/webhooks", 201, json=body).json()


def path(place: Place, made: Any) -> str:
    return f"{place.space}/webhook/{made['id']}"


def deliveries(place: Place, made: Any, **params: Any) -> list[Any]:
    found: list[Any] = place.root.get(f"{path(place, made)}/deliveries", **params)["items"]
    return found


def settled(place: Place, made: Any, status: str, count: int = 1) -> list[Any]:
    """The deliveries of a status, newest first, once there are so many."""
    return wait_until(
        lambda: found if len(found := deliveries(place, made, status=status)) >= count else None,
        PATIENCE,
        f"{count} deliveries {status}",
    )


def detail(place: Place, made: Any, delivery: Any) -> Any:
    return place.root.get(f"{path(place, made)}/delivery/{delivery['id']}")
