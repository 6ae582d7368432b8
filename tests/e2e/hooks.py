"""Webhooks of a place: creation, and waits for their deliveries."""

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


def wait_until_relayed(place: Place) -> Place:
    """Wait until the first publish of a place was relayed, so that later webhooks never get it; return the place."""
    with following(place, after="0") as follower:
        follower.wait(1)
    return place


def create_webhook(place: Place, url: str, **fields: Any) -> Any:
    """Create a webhook; return it with its secret."""
    body = {"url": url, "events": ["published", "rolled_back"], **fields}
    return place.root.ask("POST", f"{place.space}/webhooks", 201, json=body).json()


def path(place: Place, made: Any) -> str:
    return f"{place.space}/webhook/{made['id']}"


def deliveries(place: Place, made: Any, **params: Any) -> list[Any]:
    found: list[Any] = place.root.get(f"{path(place, made)}/deliveries", **params)["items"]
    return found


def wait_for_deliveries(place: Place, made: Any, status: str, count: int = 1) -> list[Any]:
    """Wait for so many deliveries of a status, and return them, newest first."""
    return wait_until(
        lambda: found if len(found := deliveries(place, made, status=status)) >= count else None,
        PATIENCE,
        f"{count} deliveries {status}",
    )


def detail(place: Place, made: Any, delivery: Any) -> Any:
    return place.root.get(f"{path(place, made)}/delivery/{delivery['id']}")
