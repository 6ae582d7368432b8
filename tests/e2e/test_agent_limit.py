"""The limit of agents per project: new names are refused above it, known ones go on."""

from collections.abc import Iterator

import pytest

from tests.e2e.world import Place, World, open_world
from tests.service import WAYPOST, running, wait_until

MOST = 5


@pytest.fixture(scope="module")
def limited_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Run a service that takes five agents per project."""
    data = tmp_path_factory.mktemp("limited") / "data"
    with (
        running(WAYPOST, data, {"WAYPOST_AGENTS_PER_PROJECT": str(MOST)}) as service,
        open_world(service) as world,
    ):
        yield world


@pytest.fixture
def full(limited_world: World) -> Place:
    """Return a project with as many agents as it takes."""
    place = limited_world.place()
    for number in range(MOST):
        register(place, f"edge-{number}")
    return place


def register(place: Place, name: str, **fields: object) -> None:
    body = {"name": name, "type": "default", "version": 1, "status": "success", **fields}
    place.ask("POST", "/agents", 200, json=body)


def names(place: Place) -> list[str]:
    return [item["name"] for item in place.get("/agents")["items"]]


def test_a_new_agent_beyond_the_limit_is_refused_and_the_known_ones_go_on(full: Place) -> None:
    body = {"name": "edge-9", "type": "default", "version": 1}
    for _ in range(4):
        found = full.refused("POST", "/agents", 409, "too_many_agents", json=body)
    assert "5 agents" in found["message"]
    assert "agents_per_project" in found["message"]
    for _ in range(3):
        register(full, "edge-0", status="error", error="no space")
        full.ask("PATCH", "/agents/edge-1/hit", 200)
    assert full.get("/agents/edge-0")["error"] == "no space"
    assert full.world.place(full.namespace, "other").get("/agents")["total"] == 0
    register(full.world.place(full.namespace, "third"), "edge-9")


def test_a_heartbeat_of_a_new_agent_is_refused_too(full: Place) -> None:
    """It is at the latest a moment after the first one, which is dropped."""
    wait_until(
        lambda: full.root.send("PATCH", f"{full.path}/agents/edge-9/hit").status_code == 409,
        30,
        "the heartbeat to be refused",
    )
    full.ask("PATCH", "/agents/edge-1/hit", 200)
    assert names(full) == [f"edge-{number}" for number in range(MOST)]


def test_a_removed_agent_makes_room(full: Place) -> None:
    full.refused("POST", "/agents", 409, "too_many_agents", json={"name": "new", "type": "default", "version": 1})
    full.ask("DELETE", "/agents/edge-2", 204)
    body = {"name": "new", "type": "default", "version": 1}
    wait_until(lambda: full.root.send("POST", f"{full.path}/agents", json=body).status_code == 200, 30, "a place")
    assert "new" in names(full)


def test_heartbeats_that_come_together_fill_the_project_to_the_limit(limited_world: World) -> None:
    place = limited_world.place()
    for number in range(20):
        place.root.send("PATCH", f"{place.path}/agents/hit-{number:02}/hit")
    wait_until(lambda: place.get("/agents")["total"] >= MOST, 30, "the heartbeats to be written")
    refused = f"{place.path}/agents/later/hit"
    wait_until(lambda: place.root.send("PATCH", refused).status_code == 409, 30, "the project to be full")
    assert place.get("/agents")["total"] == MOST
