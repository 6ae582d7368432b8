"""The stream of all namespaces of the running service: a browser's session and its end, grants, and a second start."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests.e2e.stream import Follower, following
from tests.e2e.world import PASSWORD, Place, World
from tests.service import wait_until

ALL = "/api/events"
PATIENCE = 60.0


@contextmanager
def browser(world: World, user: str) -> Iterator[httpx.Client]:
    """Sign in as a browser does: cookies, and the token against forged requests."""
    with httpx.Client(base_url=world.service.url, timeout=60) as client:
        found = client.post("/auth/session", json={"username": user, "password": PASSWORD})
        assert found.status_code == httpx.codes.OK
        client.headers["X-CSRF-Token"] = client.cookies["waypost-csrf"]
        yield client


def seen(follower: Follower) -> list[tuple[str, int]]:
    """Return the namespaces and numbers of the publishes."""
    published = (data["data"] for _, kind, data in list(follower.seen) if kind == "published")
    return [(data["namespace"], data["publishNumber"]) for data in published]


def test_a_session_follows_all_of_its_namespaces_until_it_ends(world: World, place: Place) -> None:
    other = world.place()
    with (
        browser(world, world.user("viewer")) as client,
        following(place, again=False, path=ALL, cookies=client.cookies) as follower,
    ):
        place.published("/a")
        other.published("/b")
        mine = [(place.namespace, 2), (other.namespace, 2)]
        wait_until(lambda: set(mine) <= set(seen(follower)), PATIENCE, "both publishes")
        assert client.delete("/auth/session").is_success
        wait_until(lambda: follower.ends, PATIENCE, "the stream to end")
        refused = client.get(ALL, headers={"Accept": "text/event-stream"})
        assert refused.status_code == httpx.codes.UNAUTHORIZED


def test_a_role_that_changes_counts_from_the_next_event_on(world: World, place: Place) -> None:
    other, name = world.place(), f"role-{place.namespace}"

    def may_read(*namespaces: str) -> dict[str, object]:
        grants = [{"namespace": each, "project": "*", "resource": "project", "action": "read"} for each in namespaces]
        return {"description": "", "grants": grants}

    admin = world.person("admin")
    admin.ask("POST", "/api/roles", 201, json={"name": name, **may_read(place.namespace)})
    token = world.session(world.user(name))["accessToken"]
    with following(place, path=ALL, token=token) as follower:
        other.published("/hidden")
        place.published("/a")
        wait_until(lambda: seen(follower) == [(place.namespace, 2)], PATIENCE, "what may be read")
        admin.ask("PUT", f"/api/role/{name}", 200, json=may_read(other.namespace))
        place.published("/b")
        other.published("/c")
        expected = [(place.namespace, 2), (other.namespace, 3)]
        wait_until(lambda: seen(follower) == expected, PATIENCE, "what may be read now")


def test_a_reader_that_returns_misses_nothing(place: Place) -> None:
    with following(place, path=ALL) as follower:
        place.published("/a")
        wait_until(lambda: (place.namespace, 2) in seen(follower), PATIENCE, "the publish")
    place.published("/b")
    with following(place, path=ALL, after=follower.last_id) as again:
        wait_until(lambda: (place.namespace, 3) in seen(again), PATIENCE, "the publish that was missed")
    assert (place.namespace, 2) not in seen(again)


@pytest.mark.parametrize("text", ["x", "-1", "9" * 30])
def test_a_malformed_id_is_refused_before_the_stream_begins(world: World, text: str) -> None:
    world.root.refused("GET", ALL, 400, "bad_parameter", headers={"Last-Event-ID": text})
    world.nobody.refused("GET", ALL, 401, "unauthenticated")
