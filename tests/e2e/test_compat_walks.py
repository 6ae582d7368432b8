"""Walks through lists without a version, below /compat/flecto: each reads one version, whatever others publish."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any, NamedTuple

import httpx
import pytest

from tests.e2e.flecto_agent import FlectoAgent
from tests.e2e.world import Place, redirect
from tests.rounds import rounds

BASE = "/compat/flecto"
PERMISSIONS = (("redirect", "read"), ("page", "read"), ("agent", "write"))
RULES = 600
PUBLISHES = rounds(12, 25)
BY_THE_FRAMEWORK = {"X-Request-Id": "by-the-framework"}


class Walked(NamedTuple):
    """The targets of the first and the last rule of a walk, and whether a publish fell into it."""

    first: str
    last: str
    crossed: bool


@contextmanager
def connection(place: Place) -> Iterator[httpx.Client]:
    """Open a client with one connection, which it keeps."""
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=None)
    with httpx.Client(base_url=place.world.service.url, limits=limits, timeout=60) as client:
        yield client


@pytest.fixture
def shop(place: Place) -> Place:
    """Publish rules, of which the first and the last name the publish in their targets."""
    rules = [redirect(f"/{number:03}") for number in range(RULES)]
    place.ask("POST", "/draft/changes", 200, json=[{"op": "put", "kind": "redirect", "item": rule} for rule in rules])
    place.add_page("/robots.txt")
    place.publish()
    publish_number(place, 0)
    return place


def publish_number(place: Place, number: int) -> None:
    """Publish another target of the first and the last rule."""
    ends = [redirect("/000", f"/publish/{number}"), redirect(f"/{RULES - 1:03}", f"/publish/{number}")]
    changes = [{"op": "put", "kind": "redirect", "item": rule} for rule in ends]
    place.ask("POST", "/draft/changes", 200, json=changes)
    place.publish()


def version(
    place: Place, client: httpx.Client, query: str, token: str = "", tail: str = "/redirects", **headers: str
) -> str:
    """Read a window, and return its version."""
    given = {"Authorization": f"Bearer {token or place.root.token}", **headers}
    answer = client.get(f"{BASE}{place.path}{tail}{query}", headers=given)
    assert answer.status_code == 200, answer.text
    return answer.headers["X-Project-Version"]


def walk(agent: FlectoAgent) -> Walked:
    """Read the version, the list window by window, and the version again."""
    before = agent.http.get(f"{BASE}{agent.path}/version", headers={"Authorization": f"Bearer {agent.token}"}).text
    items: list[Any] = agent.read("/redirects", limit=20)
    after = agent.http.get(f"{BASE}{agent.path}/version", headers={"Authorization": f"Bearer {agent.token}"}).text
    assert len(items) == RULES
    return Walked(items[0]["target"], items[-1]["target"], before != after)


def walks_while_publishing(place: Place) -> list[Walked]:
    """Let four agents walk on connections of their own, new ones from time to time, while another client publishes."""
    token, ending = place.holder(*PERMISSIONS).root.token, Event()

    def poll(name: str) -> list[Walked]:
        found = []
        while not ending.is_set():
            with connection(place) as client:
                agent = FlectoAgent(client, token, place.path, name)
                found += [walk(agent) for _ in range(3)]
        return found

    with ThreadPoolExecutor(4) as pool:
        running: list[Future[list[Walked]]] = [pool.submit(poll, f"edge-{number}") for number in range(4)]
        try:
            for number in range(1, PUBLISHES):
                publish_number(place, number)
        finally:
            ending.set()
        return [each for future in running for each in future.result()]


def test_no_walk_mixes_versions_while_others_publish(shop: Place) -> None:
    """Without a pause between publishes, on two workers; some of the walks have a publish in their middle."""
    found = walks_while_publishing(shop)
    assert any(each.crossed for each in found)
    assert [each for each in found if each.first != each.last] == []


@pytest.mark.parametrize("headers", [{}, BY_THE_FRAMEWORK], ids=["fast path", "framework"])
@pytest.mark.parametrize("beginning", [{}, BY_THE_FRAMEWORK], ids=["fast path", "framework"])
def test_a_walk_goes_on_in_its_version(shop: Place, headers: dict[str, str], beginning: dict[str, str]) -> None:
    """For its token, on its connection and through its list; a window at offset 0 begins another one."""
    other_token = shop.holder(*PERMISSIONS).root.token
    with connection(shop) as client, connection(shop) as another:
        old = version(shop, client, "?limit=100", **beginning)
        publish_number(shop, 1)
        new = shop.get("/version")
        assert old != new
        assert version(shop, client, "?limit=100&offset=100", **headers) == old
        assert version(shop, client, "?limit=7&offset=200", **headers) == old
        assert version(shop, client, "?offset=100", other_token, **headers) == new
        assert version(shop, client, "?offset=1", tail="/pages", **headers) == new
        assert version(shop, another, "?offset=100", **headers) == new
        assert version(shop, client, f"?offset=100&version={new}", **headers) == new
        publish_number(shop, 2)
        assert version(shop, client, "?offset=300", **headers) == old
        assert version(shop, client, "?limit=100", **headers) == shop.get("/version")
        assert version(shop, client, "?offset=100", **headers) == shop.get("/version")


def test_a_walk_ends_with_its_project(shop: Place) -> None:
    with connection(shop) as client:
        version(shop, client, "?limit=100")
        shop.ask("DELETE", f"?confirm={shop.project}", 204)
        given = {"Authorization": f"Bearer {shop.root.token}"}
        assert client.get(f"{BASE}{shop.path}/redirects?offset=100", headers=given).status_code == 404


def test_a_walk_through_compressed_windows_goes_on_in_its_version(shop: Place) -> None:
    with connection(shop) as client:
        old = version(shop, client, "?limit=300", **{"Accept-Encoding": "gzip"})
        publish_number(shop, 1)
        for _ in range(2):
            assert version(shop, client, "?limit=300&offset=300", **{"Accept-Encoding": "gzip"}) == old
