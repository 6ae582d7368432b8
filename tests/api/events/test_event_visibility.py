"""Visibility of events: the grant to read the project, and for events of agents the grant to read agents too."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from api.db.events.deliveries import Delivery, DeliveryStatus
from api.db.events.events import EventType
from api.db.events.webhooks import Webhook
from api.events.event_visibility import can_see_body, can_see_event, find_missing_grant
from tests.api.fakes import FakePrincipal

SHOP = FakePrincipal("shop", (("project", "read", "acme", "shop"),))
AGENTS = FakePrincipal("agents", (("project", "read", "acme", "*"), ("agent", "read", "acme", "*")))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOOK = Webhook("acme", "https://hooks.example/", (), (), "", active=True, secret="s", created_at=NOW, created_by="ada")


@pytest.mark.parametrize("kind", EventType)
def test_events_are_heard_with_the_grants_for_what_they_tell(kind: EventType) -> None:
    assert can_see_event(SHOP, "acme", "shop", kind) is not kind.startswith("agent.")
    assert can_see_event(AGENTS, "acme", "shop", kind)


@pytest.mark.parametrize(("namespace", "project"), [("acme", "docs"), ("other", "shop")])
def test_events_of_other_projects_are_not_heard(namespace: str, project: str) -> None:
    assert not can_see_event(SHOP, namespace, project, EventType.PUBLISHED)


def test_other_grants_than_to_read_are_not_enough() -> None:
    writer = FakePrincipal("writer", (("project", "write", "*", "*"), ("redirect", "read", "*", "*")))
    only_agents = FakePrincipal("agents", (("agent", "read", "*", "*"),))
    assert not can_see_event(writer, "acme", "shop", EventType.PUBLISHED)
    assert not can_see_event(only_agents, "acme", "shop", EventType.AGENT_SILENT)


@pytest.mark.parametrize(
    ("events", "projects", "lacking"),
    [
        ((), ("shop",), "agent:read@acme/shop"),
        (("published",), ("shop",), None),
        (("published",), ("shop", "docs"), "project:read@acme/docs"),
        (("published",), (), "project:read@acme/*"),
        (("published", "agent.silent"), ("shop",), "agent:read@acme/shop"),
    ],
)
def test_first_grant_that_a_webhook_lacks_is_named(
    events: tuple[str, ...], projects: tuple[str, ...], lacking: str | None
) -> None:
    """An empty list of events means all events, an empty list of projects all of the namespace."""
    hook = replace(HOOK, events=events, projects=projects)
    assert find_missing_grant(SHOP, hook) == lacking
    assert find_missing_grant(AGENTS, hook) is None


@pytest.mark.parametrize(
    ("body", "kind", "seen"),
    [
        ('{"data": {"project": "shop"}}', "published", True),
        ('{"data": {"project": "docs"}}', "published", False),
        ('{"data": {"project": "shop"}}', "agent.failing", False),
        ('{"data": {}}', "ping", True),
    ],
)
def test_a_delivery_is_shown_as_its_event_is_heard(body: str, kind: str, seen: bool) -> None:  # noqa: FBT001 - a table's column
    delivery = Delivery(1, 1, None, "m", kind, body, DeliveryStatus.DELIVERED, 1, NOW, None, NOW)
    assert can_see_body(SHOP, "acme", delivery) is seen
