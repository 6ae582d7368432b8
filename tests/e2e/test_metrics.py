"""Metrics of the whole service: requests on both paths under one route, publishes and heartbeats; for any token."""

import time
from collections.abc import Callable

from tests.e2e.world import Place, World
from tests.metrics_text import read_metrics, total
from tests.service import wait_until

REQUESTS = "waypost_requests_total"
PROJECT = "/api/namespace/{namespace}/project/{project}"


def count(place: Place, name: str, **labels: str) -> float:
    """Return the sum of a metric's samples with these labels, over all workers."""
    return total(read_metrics(place.world.http, place.root.token), name, **labels)


def read_stable(look: Callable[[], float]) -> float:
    """Return the value of `look` once it is stable: each worker reports once a second."""
    found, since = look(), time.monotonic()

    def is_stable() -> bool:
        nonlocal found, since
        now = look()
        if now != found:
            found, since = now, time.monotonic()
        return time.monotonic() - since > 1.5

    wait_until(is_stable, 15, "the count to be stable")
    return found


def grows(look: Callable[[], float], act: Callable[[], object], by: int) -> None:
    """Fail unless `act` increases the value of `look` by so much."""
    before = read_stable(look)
    act()
    assert read_stable(look) == before + by


def test_both_paths_count_under_one_route(place: Place) -> None:
    place.published("/a")

    def ask() -> None:
        for _ in range(10):
            place.get("/version")
            place.ask("GET", "/version", 200, headers={"X-Request-Id": "by-the-framework"})

    route = f"{PROJECT}/version"
    grows(lambda: count(place, REQUESTS, route=route), ask, 20)
    assert count(place, "waypost_request_seconds_count", route=route) == count(place, REQUESTS, route=route)


def test_publishes_and_rollbacks_are_counted(place: Place) -> None:
    place.published("/a")
    place.add("/b")
    grows(lambda: count(place, "waypost_publishes_total", kind="publish"), place.publish, 1)

    def back() -> None:
        place.ask("POST", "/rollback", 200, json={"version": "2"})

    grows(lambda: count(place, "waypost_publishes_total", kind="rollback"), back, 1)


def test_a_poll_that_waits_does_not_make_its_route_look_slow(place: Place) -> None:
    def wait() -> None:
        headers = {"If-None-Match": f'"{place.get("/version")}"', "Prefer": "wait=2"}
        place.ask("GET", "/version", 304, headers=headers)

    def slow() -> float:
        found = read_metrics(place.world.http, place.root.token)
        route = f"{PROJECT}/version"
        quick = total(found, "waypost_request_seconds_bucket", route=route, le="1.0")
        return total(found, "waypost_request_seconds_count", route=route) - quick

    before = read_stable(slow)
    grows(lambda: count(place, REQUESTS, route=f"{PROJECT}/version", status="304"), wait, 1)
    assert slow() == before


def test_heartbeats_are_pending_until_they_are_written(place: Place) -> None:
    for number in range(5):
        place.ask("PATCH", f"/agents/edge-{number}/hit", 200)
    wait_until(lambda: count(place, "waypost_heartbeats_pending") == 0, 10, "all heartbeats to be written")


def test_only_callers_with_a_token_read_them(world: World) -> None:
    found = world.holder(("page", "read"), namespace="elsewhere").ask("GET", "/metrics", 200)
    assert found.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    world.nobody.ask("GET", "/metrics", 401)
